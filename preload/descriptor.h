/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRELOAD_DESCRIPTOR_H
#define GMT_PRELOAD_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Moves a descriptor to a high number, where the host neither expects one (0 to 2 may be closed, and
 * are then the next to be given) nor looks for its own. The new one, close-on-exec, or `fd` itself.
 */
int gmt_descriptor_move_high(int fd);

/* Whether the process may have a file of so many bytes; where not, to make one would send it SIGXFSZ. */
bool gmt_descriptor_may_make_file(uint64_t bytes);

#endif
