/* SPDX-License-Identifier: MIT */
#include "tools/import/import_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/safe_text.h"
#include "base/text.h"
#include "format/encoding/encode_rows.h"
#include "format/file/sink.h"
#include "import/csv/csv_import.h"
#include "import/torch/torch_import.h"
#include "tools/import/import_input.h"
#include "tools/import/nsight_import.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"
#include "tools/output/output.h"
#include "tools/recordings/standard_input.h"

#define ENDING ".gmt.gz"

enum { GZIP_LEVEL = 6 };

/* The new recording while it is written. */
struct recording {
	struct gmt_encoder encoder;
	struct gmt_sink *sink;
	struct gmt_error error;
};

static bool write_rows(void *user, uint32_t kind, const void *rows, uint32_t count)
{
	struct recording *recording = user;

	return !gmt_encode_rows(&recording->encoder, kind, rows, count, &recording->error) &&
		!gmt_sink_push(recording->sink, recording->encoder.block.items,
			recording->encoder.block.count, &recording->error);
}

/* Puts the name of the file in front of an error about its content. */
static enum gmt_status prefix_error(const struct gmt_import_input *input, struct gmt_error *error)
{
	struct gmt_error inner = *error;

	return gmt_error_set(error, inner.status, "%.400s: %.600s", input->name, inner.text);
}

static enum gmt_status import_pickle(const struct gmt_import_input *input,
	const struct gmt_import_options *options, struct gmt_error *error)
{
	struct gmt_unpickle pickle = { 0 };
	enum gmt_status status =
		gmt_unpickle_read(&pickle, input->bytes.items, input->bytes.count, error);

	if (!status)
		status = gmt_torch_import(&pickle.value, input->bytes.count, options, error);
	gmt_unpickle_fini(&pickle);
	return status;
}

static enum gmt_status import(const struct gmt_import_input *input, uint64_t pid,
	const struct gmt_import_options *options, struct gmt_error *error)
{
	enum gmt_status status = GMT_FORMAT;

	switch (input->kind) {
	case GMT_IMPORT_PICKLE:
		status = import_pickle(input, options, error);
		break;
	case GMT_IMPORT_CSV:
		status = gmt_csv_import(input->bytes.items, input->bytes.count, options, error);
		break;
	case GMT_IMPORT_NSIGHT:
		status = gmt_nsight_import(input->path, pid, options, error);
		break;
	}
	return status ? prefix_error(input, error) : GMT_OK;
}

/* Writes the recording. Returns the exit code. */
static int write_recording(const struct gmt_import_input *input, uint64_t pid, const char *name,
	struct gmt_output *output)
{
	struct recording recording = { 0 };
	struct gmt_import_options options = {
		.version = GMT_PROGRAM_VERSION,
		.write = write_rows,
		.user = &recording,
	};
	struct gmt_error error = { 0 };
	uint8_t header[GMT_FILE_HEADER_BYTES];
	enum gmt_status closed,
		status = gmt_sink_open(gmt_output_descriptor(output), GZIP_LEVEL, &recording.sink, &error);

	if (!status) {
		gmt_encode_file_header(header);
		status = gmt_sink_push(recording.sink, header, sizeof(header), &error);
		if (!status)
			status = import(input, pid, &options, &error);
		/* If the output failed, its error is the cause. */
		if (status && recording.error.status) {
			error = recording.error;
			status = error.status;
		}
		closed = gmt_sink_close(recording.sink, status ? NULL : &error);
		status = status ? status : closed;
	}
	gmt_encoder_fini(&recording.encoder);
	if (status == GMT_WRITE)
		gmt_message_error("%s: %s", name, error.text);
	return !status            ? 0
		: status == GMT_WRITE ? gmt_status_exit_code(status)
							  : gmt_message_failure(&error);
}

/*
 * Writes the default name of a file's recording to `buffer`: the file's name with another ending.
 */
static const char *default_name(const char *path, char buffer[PATH_MAX])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	size_t length = dot && dot != name ? (size_t)(dot - name) : strlen(name);

	length = gmt_text_cut_length(name, length, NAME_MAX - strlen(ENDING));
	snprintf(buffer, PATH_MAX, "%.*s" ENDING, (int)length, name);
	return buffer;
}

int gmt_import_file(const char *path, const struct gmt_import_file_options *options)
{
	char buffer[PATH_MAX];
	const char *name = options->output ? options->output : default_name(path, buffer);
	const struct gmt_output_rules rules = { .inputs = { { &path, 1 } }, .force = options->force };
	struct gmt_output *to = gmt_output_open_bytes(name, &rules);
	struct gmt_import_input input = { 0 };
	struct gmt_error error = { 0 };
	int code;

	if (!to)
		return GMT_EXIT_UNREADABLE;
	code = gmt_import_input_read(&input, path, &error)
		? gmt_message_failure(&error)
		: write_recording(&input, options->pid, name, to);
	gmt_import_input_fini(&input);
	if (code) {
		gmt_output_discard(to);
		return code;
	}
	code = gmt_output_close(to, 0);
	if (!code && strcmp(name, "-") != 0) {
		gmt_safe_print(stdout, "wrote ");
		gmt_safe_print(stdout, name);
		putchar('\n');
	}
	return code;
}
