/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_RECORDING_FILE_H
#define GMT_TESTS_RECORDING_FILE_H

/* Writes recordings for tests, row by row. A failure ends the program with a message. */

#include <stdint.h>

#include "format/encoding/encode_rows.h"
#include "format/file/sink.h"

struct recording_file {
	int fd;
	struct gmt_encoder encoder;
	struct gmt_sink *sink;
	struct gmt_error error;
};

/* Creates `path`, replaces an old file, and writes the file header. */
void recording_file_open(struct recording_file *file, const char *path, int level);

/* Writes one block of `count` rows. Events have absolute totals in `rows`, which this changes. */
void recording_file_put(struct recording_file *file, uint32_t kind, const void *rows,
	uint32_t count);

/* Writes one row, as in RECORDING_PUT(&file, API, .id = 1, .name = slice("x")). */
#define RECORDING_PUT(file, KIND, type, ...) \
	recording_file_put((file), GMT_RECORD_##KIND, &(struct type){ __VA_ARGS__ }, 1)

/* Writes raw bytes in place of a block. */
void recording_file_put_bytes(struct recording_file *file, const void *bytes, size_t length);

void recording_file_sync(struct recording_file *file);
void recording_file_close(struct recording_file *file);

struct gmt_slice slice(const char *text);

#endif
