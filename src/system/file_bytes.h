/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_FILE_BYTES_H
#define GMT_SYSTEM_FILE_BYTES_H

/* All of some bytes at a place of a file, however many calls the kernel wants for that. No memory; any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads `length` bytes from `offset` on; returns how many there were: fewer at the end of the file, or on an error. */
size_t gmt_file_read_at(int fd, uint64_t offset, void *bytes, size_t length);

/* Writes `length` bytes from `offset` on; false with errno (ENOSPC where the kernel names no reason). */
bool gmt_file_write_at(int fd, uint64_t offset, const void *bytes, size_t length);

#endif
