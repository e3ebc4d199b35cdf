/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_UNWINDER_CALLS_H
#define GMT_UNWIND_UNWINDER_CALLS_H

/*
 * libunwind tests whether memory can be read by writing a byte of it into a pipe of its own, on whatever numbers
 * are free. A host that closes every descriptor and opens its own would get those bytes into its files, or lose its
 * descriptor. Our copy of libunwind asks for functions of ours instead of libc's `pipe2` and `syscall`
 * (meson.build renames them in it): there is no pipe, and the kernel is asked about the memory in another way. Its `open` is ours
 * too, and opens nothing.
 */

/* Once, after our copy was opened: whether it asks us for both. A copy that does not gets its pipe, on high numbers. */
void gmt_unwinder_calls_init(void *handle);

#endif
