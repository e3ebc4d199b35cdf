/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_EVENTS_FILE_H
#define GMT_READER_LOAD_EVENTS_FILE_H

/*
 * A temporary file for bytes that would take too much memory. It lies in $TMPDIR if that is set,
 * else in /var/tmp, else in /tmp. The file has no name, so it disappears with the process.
 *
 * For one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gmt_events_file;

/* Creates the file. Returns NULL if no folder allows it. */
struct gmt_events_file *gmt_events_file_open(void);

/*
 * Writes `length` bytes at `offset`. Returns false if not all bytes could be written, for example
 * on a full disk. Bytes that were in the file before stay.
 */
bool gmt_events_file_write(struct gmt_events_file *file, uint64_t offset, const void *bytes,
	size_t length);

/*
 * Reads bytes that were written before. If that fails, fills the rest with zeros and marks the file
 * as failed (gmt_events_file_failed).
 */
void gmt_events_file_read(struct gmt_events_file *file, uint64_t offset, void *bytes,
	size_t length);

bool gmt_events_file_failed(const struct gmt_events_file *file);

/* Closes and removes the file. `file` may be NULL. */
void gmt_events_file_close(struct gmt_events_file *file);

#endif
