/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRELOAD_DESCRIPTOR_H
#define GMT_PRELOAD_DESCRIPTOR_H

/*
 * Moves a descriptor to a high number, where the host neither expects one (0 to 2 may be closed, and
 * are then the next to be given) nor looks for its own. The new one, close-on-exec, or `fd` itself.
 */
int gmt_descriptor_move_high(int fd);

#endif
