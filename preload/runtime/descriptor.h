/* SPDX-License-Identifier: MIT */
#ifndef GMT_RUNTIME_DESCRIPTOR_H
#define GMT_RUNTIME_DESCRIPTOR_H

/*
 * File descriptors of the recorder. The writer's thread has its own descriptor table, so the
 * recorder does not change the host's table. The host's lowest free number, its limit and the
 * descriptors of its children are the same as without the recorder. Only the writer's thread opens
 * files.
 *
 * If the kernel does not allow a separate table, the writer shares the host's table and moves its
 * descriptors to high numbers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "system/file_identity.h"

/*
 * The path of a descriptor of the calling thread, for snprintf. It is valid only in this thread's
 * table.
 */
#define GMT_DESCRIPTOR_PATH "/proc/thread-self/fd/%d"

/*
 * Gives the calling thread its own empty table, which it keeps. Threads that it starts by
 * pthread_create share that table. Needs Linux 5.14. Returns false if the thread still uses the
 * host's table.
 */
bool gmt_descriptor_take_own_table(void);

/* Returns whether the calling thread has its own table. */
bool gmt_descriptor_has_own_table(void);

/*
 * Returns whether the recorder's descriptors are in a table that the calling thread does not have.
 * Their numbers then mean nothing to this thread.
 */
bool gmt_descriptor_is_elsewhere(void);

/*
 * Returns whether the host's table has room for the recorder's descriptors. Otherwise the host
 * itself would run out of numbers.
 */
bool gmt_descriptor_may_share_table(void);

/* Returns whether the calling thread can open `count` more descriptors now. For rare moments. */
bool gmt_descriptor_has_room(unsigned count);

/*
 * Moves a descriptor to a high number, where the host does not look for its own descriptors. The
 * host may have closed 0 to 2, and then expects to get these numbers next. Does nothing if the
 * recorder has its own table. Returns the new descriptor, close-on-exec, or `fd` itself.
 */
int gmt_descriptor_move_high(int fd);

/*
 * Closes `*fd` if it still refers to `file` and belongs to the calling thread's table. Sets `*fd`
 * to -1.
 */
void gmt_descriptor_close(int *fd, const struct gmt_file_identity *file);

/*
 * Returns whether RLIMIT_FSIZE allows a file of `bytes` bytes. Otherwise the attempt would send
 * SIGXFSZ to the process.
 */
bool gmt_descriptor_may_make_file(uint64_t bytes);

#endif
