/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_SNAPSHOT_FILE_H
#define GMT_TESTS_SNAPSHOT_FILE_H

/* Writes snapshots for tests, row by row. A failure ends the program with a message. */

#include <stdint.h>

#include "format/encoding/encode.h"
#include "format/file/sink.h"

struct snapshot_file {
	int fd;
	struct gmt_encoder encoder;
	struct gmt_sink *sink;
	struct gmt_error error;
};

/* Creates `path`, replaces an old file, and writes the file header. */
void snapshot_file_open(struct snapshot_file *file, const char *path, int level);

/* Writes one block of `count` rows. Events have absolute totals in `rows`, which this changes. */
void snapshot_file_put(struct snapshot_file *file, uint32_t kind, const void *rows, uint32_t count);

/* Writes one row, as in SNAPSHOT_PUT(&file, API, .id = 1, .name = slice("x")). */
#define SNAPSHOT_PUT(file, KIND, type, ...) \
	snapshot_file_put((file), GMT_RECORD_##KIND, &(struct type){ __VA_ARGS__ }, 1)

/* Writes raw bytes in place of a block. */
void snapshot_file_put_bytes(struct snapshot_file *file, const void *bytes, size_t length);

void snapshot_file_sync(struct snapshot_file *file);
void snapshot_file_close(struct snapshot_file *file);

struct gmt_slice slice(const char *text);

#endif
