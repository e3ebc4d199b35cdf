/* SPDX-License-Identifier: MIT */
#include "recording_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/encoding/torch_totals.h"

static void check(const struct recording_file *file, enum gmt_status status)
{
	if (!status)
		return;
	fprintf(stderr, "recording_file: %s\n", file->error.text);
	exit(1);
}

void recording_file_open(struct recording_file *file, const char *path, int level)
{
	uint8_t header[GMT_FILE_HEADER_BYTES];

	*file =
		(struct recording_file){ .fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) };
	if (file->fd < 0) {
		perror(path);
		exit(1);
	}
	check(file, gmt_sink_open(file->fd, level, &file->sink, &file->error));
	gmt_encode_file_header(header);
	recording_file_put_bytes(file, header, sizeof(header));
}

void recording_file_put(struct recording_file *file, uint32_t kind, const void *rows,
	uint32_t count)
{
	if (kind == GMT_RECORD_EVENT)
		gmt_torch_totals_to_differences((struct gmt_event *)(uintptr_t)rows, count);
	check(file, gmt_encode_rows(&file->encoder, kind, rows, count, &file->error));
	recording_file_put_bytes(file, file->encoder.block.items, file->encoder.block.count);
}

void recording_file_put_bytes(struct recording_file *file, const void *bytes, size_t length)
{
	check(file, gmt_sink_push(file->sink, bytes, length, &file->error));
}

void recording_file_sync(struct recording_file *file)
{
	check(file, gmt_sink_sync(file->sink, &file->error));
}

void recording_file_close(struct recording_file *file)
{
	check(file, gmt_sink_close(file->sink, &file->error));
	gmt_encoder_fini(&file->encoder);
	close(file->fd);
}

struct gmt_slice slice(const char *text)
{
	return (struct gmt_slice){ text, (uint32_t)strlen(text) };
}
