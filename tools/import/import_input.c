/* SPDX-License-Identifier: MIT */
#include "tools/import/import_input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "import/csv/csv_import.h"
#include "import/pickle/unpickle.h"
#include "tools/recordings/standard_input.h"

static const char sqlite_magic[16] = "SQLite format 3"; /* with its NUL */

static bool begins_with(const struct gmt_import_input *input, const char *text, size_t length)
{
	return input->bytes.count >= length && memcmp(input->bytes.items, text, length) == 0;
}

static int64_t read_some(const struct gmt_source_stream *stream, int fd, void *buffer, size_t bytes)
{
	ssize_t got;

	if (stream)
		return stream->read(stream->user, buffer, bytes);
	do
		got = read(fd, buffer, bytes);
	while (got < 0 && errno == EINTR);
	return got;
}

static enum gmt_status read_all(struct gmt_import_input *input,
	const struct gmt_source_stream *stream, int fd, struct gmt_error *error)
{
	enum { STEP_BYTES = 1 << 20 };
	int64_t got;

	do {
		if (!gmt_vec_reserve(&input->bytes, STEP_BYTES))
			return gmt_error_set(error, GMT_NO_MEMORY, "%.512s: out of memory", input->name);
		got = read_some(stream, fd, input->bytes.items + input->bytes.count, STEP_BYTES);
		if (got < 0)
			return gmt_error_set(error, GMT_NO_FILE, "%.512s: cannot be read: %s", input->name,
				strerror(errno));
		input->bytes.count += (size_t)got;
	} while (got && !begins_with(input, sqlite_magic, sizeof(sqlite_magic)));
	return GMT_OK;
}

static enum gmt_status read_file(struct gmt_import_input *input, struct gmt_error *error)
{
	int fd = open(input->path, O_RDONLY | O_CLOEXEC);
	struct stat file;
	enum gmt_status status;

	if (fd < 0)
		return gmt_error_set(error, GMT_NO_FILE, "%.512s: %s", input->name, strerror(errno));
	if (!fstat(fd, &file) && S_ISDIR(file.st_mode))
		status =
			gmt_error_set(error, GMT_NO_FILE, "%.512s: is a directory, not a file", input->name);
	else
		status = read_all(input, NULL, fd, error);
	close(fd);
	return status;
}

static enum gmt_status find_kind(struct gmt_import_input *input, struct gmt_error *error)
{
	if (!input->bytes.count)
		return gmt_error_set(error, GMT_FORMAT, "%.512s: is empty", input->name);
	if (gmt_unpickle_is_pickle(input->bytes.items, input->bytes.count)) {
		input->kind = GMT_IMPORT_PICKLE;
		return GMT_OK;
	}
	if (begins_with(input, sqlite_magic, sizeof(sqlite_magic))) {
		input->kind = GMT_IMPORT_NSIGHT;
		return gmt_standard_input_is(input->path)
			? gmt_error_set(error, GMT_FORMAT,
				  "%.512s: is a file of SQLite, which must be imported by its name", input->name)
			: GMT_OK;
	}
	if (begins_with(input, "\x1f\x8b", 2))
		return gmt_error_set(error, GMT_FORMAT,
			"%.512s: is compressed by gzip: a recording needs no import, and other files must be "
			"decompressed first",
			input->name);
	if (gmt_csv_is_log(input->bytes.items, input->bytes.count)) {
		input->kind = GMT_IMPORT_CSV;
		return GMT_OK;
	}
	return gmt_error_set(error, GMT_FORMAT,
		"%.512s: cannot be imported: it is neither a pickle of protocols 2 to 5, nor a CSV log, "
		"nor SQLite",
		input->name);
}

enum gmt_status gmt_import_input_read(struct gmt_import_input *ret_input, const char *path,
	struct gmt_error *error)
{
	const struct gmt_source_stream *stream;
	enum gmt_status status;

	ret_input->path = path;
	ret_input->name = gmt_standard_input_name(path);
	if (gmt_standard_input_is(path)) {
		status = gmt_standard_input_begin(&stream, error);
		status = status ? status : read_all(ret_input, stream, -1, error);
	} else {
		status = read_file(ret_input, error);
	}
	return status ? status : find_kind(ret_input, error);
}

void gmt_import_input_fini(struct gmt_import_input *input)
{
	gmt_vec_fini(&input->bytes);
}
