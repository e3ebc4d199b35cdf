/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_LOAD_EVENTS_FILE_H
#define GMT_READER_LOAD_EVENTS_FILE_H

/*
 * A temporary file for bytes that would take too much memory: in $TMPDIR, else in /var/tmp, else in /tmp. It has no
 * name, so it is gone with the process. One thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gmt_events_file;

/* NULL where there can be none. */
struct gmt_events_file *gmt_events_file_open(void);

/* Writes at `offset`; false when not all could be, a full disk say. What was there before stays. */
bool gmt_events_file_write(struct gmt_events_file *file, uint64_t offset, const void *bytes, size_t length);

/* Reads what was written; zeros, and the file has failed, where that cannot be. */
void gmt_events_file_read(struct gmt_events_file *file, uint64_t offset, void *bytes, size_t length);

bool gmt_events_file_failed(const struct gmt_events_file *file);

/* `file` may be NULL. */
void gmt_events_file_close(struct gmt_events_file *file);

#endif
