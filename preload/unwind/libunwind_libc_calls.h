/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_LIBUNWIND_LIBC_CALLS_H
#define GMT_UNWIND_LIBUNWIND_LIBC_CALLS_H

/*
 * Replaces the functions of libc that the recorder's copy of libunwind must not call.
 *
 * To test whether memory can be read, libunwind writes a byte of it into a pipe that it has made.
 * The pipe's descriptors have the lowest free numbers. If a host closes all descriptors and opens
 * its own, libunwind writes these bytes into the host's file.
 *
 * Therefore rename_libunwind.sed renames three symbols in the copy: `pipe2`, `syscall` and `open`
 * become gmtp2, gmtsysc and gmto, which this file defines. gmtp2 makes no pipe. gmtsysc answers a
 * write to the pipe by another test of the memory (memory_is_readable.h). gmto opens no file.
 */

/*
 * Checks whether the copy of libunwind calls gmtsysc. If not, gmtp2 makes a pipe on high descriptor
 * numbers, because the copy writes into it. Call once, after the copy was opened. `handle` is the
 * copy's handle from dlopen.
 */
void gmt_libunwind_libc_calls_init(void *handle);

#endif
