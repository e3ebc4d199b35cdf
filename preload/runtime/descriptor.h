/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_DESCRIPTOR_H
#define GMT_RUNTIME_DESCRIPTOR_H

/*
 * Descriptors of the recorder. The writer's thread has a descriptor table of its own, so the host's table is never touched: its
 * lowest free number, its limit and its children's descriptors are what they are without the recorder. Only the writer's thread
 * opens files. Where the kernel does not allow such a table, the writer shares the host's, and moves its descriptors to high numbers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "system/file_identity.h"

/* What no other table has: the path of a descriptor of the calling thread, for snprintf. */
#define GMT_DESCRIPTOR_PATH "/proc/thread-self/fd/%d"

/*
 * Gives the calling thread an empty table of its own, for good; its children by pthread_create would have it too. Needs Linux 5.14.
 * Returns false when the thread goes on with the host's table.
 */
bool gmt_descriptor_take_own_table(void);

/* Whether the calling thread has such a table. */
bool gmt_descriptor_has_own_table(void);

/* Whether our descriptors are in a table that the calling thread does not have: their numbers mean nothing to it. */
bool gmt_descriptor_is_elsewhere(void);

/* Whether the host's table has room for ours: it would be the host that finds no number any more. */
bool gmt_descriptor_may_share_table(void);

/* Whether the calling thread can open `count` more descriptors now. For rare moments. */
bool gmt_descriptor_has_room(unsigned count);

/*
 * Moves a descriptor to a high number, where the host neither expects one (0 to 2 may be closed, and
 * are then the next to be given) nor looks for its own. Does nothing in a table of our own. The new one, close-on-exec, or `fd` itself.
 */
int gmt_descriptor_move_high(int fd);

/* Closes `fd` if it still means that file, unless it is in another table. Sets it to -1. */
void gmt_descriptor_close(int *fd, const struct gmt_file_identity *file);

/* Whether the process may have a file of so many bytes; where not, to make one would send it SIGXFSZ. */
bool gmt_descriptor_may_make_file(uint64_t bytes);

#endif
