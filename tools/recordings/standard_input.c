/* SPDX-License-Identifier: MIT */
#include "tools/recordings/standard_input.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "containers/vec.h"
#include "tools/output/message.h"

#define NAME "standard input"

static struct {
	bool was_read; /* a pipe: its bytes are gone */
	bool is_kept;
	GMT_VEC(uint8_t) kept;
	uint64_t at; /* next byte of the file or of the kept bytes */
} input;

bool gmt_standard_input_is(const char *operand)
{
	return strcmp(operand, "-") == 0;
}

const char *gmt_standard_input_name(const char *operand)
{
	return gmt_standard_input_is(operand) ? NAME : operand;
}

static bool is_file(void)
{
	struct stat status;

	return !fstat(STDIN_FILENO, &status) && S_ISREG(status.st_mode);
}

static int64_t read_pipe(void *user, void *buffer, size_t bytes)
{
	ssize_t got;

	(void)user;
	do
		got = read(STDIN_FILENO, buffer, bytes);
	while (got < 0 && errno == EINTR);
	return got;
}

static int64_t read_file(void *user, void *buffer, size_t bytes)
{
	ssize_t got = pread(STDIN_FILENO, buffer, bytes, (off_t)input.at);

	(void)user;
	input.at += got > 0 ? (uint64_t)got : 0;
	return got;
}

static int64_t read_kept(void *user, void *buffer, size_t bytes)
{
	size_t left = input.kept.count - (size_t)input.at;

	(void)user;
	bytes = bytes < left ? bytes : left;
	if (bytes)
		memcpy(buffer, input.kept.items + input.at, bytes);
	input.at += bytes;
	return (int64_t)bytes;
}

enum gmt_status gmt_standard_input_begin(const struct gmt_source_stream **ret_stream,
	struct gmt_error *error)
{
	static const struct gmt_source_stream pipe = { read_pipe, NULL, NAME, true };
	static const struct gmt_source_stream file = { read_file, NULL, NAME, true };
	static const struct gmt_source_stream kept = { read_kept, NULL, NAME, true };

	input.at = 0;
	*ret_stream = input.is_kept ? &kept : is_file() ? &file : &pipe;
	if (*ret_stream != &pipe)
		return GMT_OK;
	if (isatty(STDIN_FILENO))
		return gmt_error_set(error, GMT_NO_FILE,
			NAME ": is a terminal: `-` reads a recording from a pipe or a file");
	if (input.was_read)
		return gmt_error_set(error, GMT_NO_FILE, NAME ": can be read only once: name `-` once");
	input.was_read = true;
	return GMT_OK;
}

static enum gmt_status keep(struct gmt_error *error)
{
	enum { STEP_BYTES = 1 << 16 };
	const struct gmt_source_stream *stream;
	enum gmt_status status = gmt_standard_input_begin(&stream, error);
	int64_t got = 1;

	while (!status && got) {
		if (!gmt_vec_reserve(&input.kept, STEP_BYTES))
			return gmt_error_set(error, GMT_NO_MEMORY, NAME ": out of memory");
		got = stream->read(stream->user, input.kept.items + input.kept.count, STEP_BYTES);
		if (got < 0)
			return gmt_error_set(error, GMT_NO_FILE, NAME ": cannot be read: %s", strerror(errno));
		input.kept.count += (size_t)got;
	}
	input.is_kept = !status;
	return status;
}

int gmt_standard_input_keep(const char *operand)
{
	struct gmt_error error = { 0 };

	if (!gmt_standard_input_is(operand) || input.is_kept || is_file())
		return 0;
	return keep(&error) ? gmt_message_failure(&error) : 0;
}

bool gmt_standard_input_is_absent(const char *verb, const char *why, int count, char **operands)
{
	for (int i = 0; i < count; i++)
		if (gmt_standard_input_is(operands[i])) {
			gmt_message_error("%s: `-`: %s", verb, why);
			return false;
		}
	return true;
}
