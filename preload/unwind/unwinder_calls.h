/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_UNWINDER_CALLS_H
#define GMT_UNWIND_UNWINDER_CALLS_H

/*
 * Replaces the functions of libc that the recorder's copy of libunwind must not call.
 *
 * libunwind tests whether memory can be read by writing a byte of it into its own pipe. The pipe
 * takes any free descriptor numbers. A host that closes all descriptors and opens its own would get
 * these bytes in its files, or would lose its descriptors.
 *
 * The recorder's copy of libunwind calls functions of the recorder instead of libc's `pipe2` and
 * `syscall` (meson.build renames the two symbols in the copy). So there is no pipe, and the
 * recorder asks the kernel about the memory in another way. The copy's `open` is also the
 * recorder's, and it opens no file.
 */

/*
 * Checks whether the copy of libunwind calls both functions of the recorder. Call it once, after
 * the copy was opened. A copy that does not call both gets a pipe, on high descriptor numbers.
 */
void gmt_unwinder_calls_init(void *handle);

#endif
