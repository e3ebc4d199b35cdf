/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_LIBUNWIND_LIBC_CALLS_H
#define GMT_UNWIND_LIBUNWIND_LIBC_CALLS_H

/*
 * Replaces the libc functions that the recorder's copy of libunwind must not call.
 *
 * To test whether memory can be read, libunwind writes a byte of it into a pipe that it has made.
 * The pipe's descriptors have the lowest free numbers. If a host closes all descriptors and opens
 * its own, libunwind writes these bytes into the host's file.
 *
 * Therefore rename_libunwind.sed renames three symbols in the copy: `pipe2`, `syscall` and `open`
 * become gmtp2, gmtsysc and gmto, which the .c file defines. gmtp2 makes no pipe. For a write to
 * the pipe, gmtsysc tests the memory in another way (memory_is_readable.h). gmto opens no file.
 */

/*
 * Checks whether the copy of libunwind calls gmtsysc. If not, gmtp2 makes a real pipe, on high
 * descriptor numbers. Call once, after the copy was opened. `handle` is the copy's, from dlopen.
 */
void gmt_libunwind_libc_calls_init(void *handle);

#endif
