/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_FILE_IO_H
#define GMT_SYSTEM_FILE_IO_H

/*
 * Complete reads and writes at an offset of a file, however many calls the kernel needs. Allocates
 * no memory; any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Reads `length` bytes from `offset`. Returns how many bytes it read: fewer at the end of the file,
 * or on an error.
 */
size_t gmt_file_read_at(int fd, uint64_t offset, void *bytes, size_t length);

/*
 * Writes `length` bytes at `offset`. Returns false with errno (ENOSPC if the kernel gives no
 * reason).
 */
bool gmt_file_write_at(int fd, uint64_t offset, const void *bytes, size_t length);

#endif
