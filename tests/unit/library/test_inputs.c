/* SPDX-License-Identifier: MIT */
/* libgpumemtrace-read reads recordings from functions, memory and descriptors as from the file. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "format/format.h"
#include "gpumemtrace-read.h"
#include "recording_file.h"
#include "temporary_file.h"

enum { EVENTS = 200000, ERROR_BYTES = 1024, MAX_BYTES = 64 << 20 };

static char error[ERROR_BYTES];
static uint8_t *content;
static size_t content_bytes;

/* Writes a recording that needs several reads, and keeps its bytes. */
static int write_recording(void **state)
{
	struct recording_file file;
	FILE *written;

	if (path_setup(state))
		return 1;
	recording_file_open(&file, path, 1);
	RECORDING_PUT(&file, PROCESS, gmt_process, .pid = 7, .rank = -1, .start_stamp = 500,
		.host = slice("host"), .executable = slice("/bin/x"), .command = slice("x"),
		.directory = slice("/"));
	RECORDING_PUT(&file, THREAD, gmt_thread, .id = 1, .tid = 70, .name = slice("main"));
	for (uint64_t i = 0; i < EVENTS; i++)
		RECORDING_PUT(&file, EVENT, gmt_event, .stamp = 501 + i, .thread = 1,
			.kind = GMT_KIND_ALLOC, .layer = GMT_LAYER_CUDA, .space = GMT_SPACE_DEVICE,
			.address = 0x1000 * (i + 1), .size_bytes = 1 + i * 2654435761 % 1000);
	RECORDING_PUT(&file, END, gmt_end, .stamp = 501 + EVENTS, .events = EVENTS);
	recording_file_close(&file);
	content = malloc(MAX_BYTES);
	written = fopen(path, "rb");
	content_bytes = content && written ? fread(content, 1, MAX_BYTES, written) : 0;
	return !written || fclose(written) || content_bytes < 3 << 16;
}

static int remove_recording(void **state)
{
	free(content);
	return path_teardown(state);
}

/* Returns the rows of the table of events. */
static int64_t count_events(gpumemtrace_recording *recording)
{
	static const char *const columns[] = { "size_bytes" };
	struct gpumemtrace_read_options options = GPUMEMTRACE_READ_EVERYTHING;
	struct ArrowArrayStream stream;
	struct ArrowArray batch;
	int64_t rows = 0;

	options.columns = columns;
	options.column_count = 1;
	if (gpumemtrace_read_stream(recording, "events", &options, &stream, error, sizeof(error)))
		fail_msg("%s", error);
	while (!stream.get_next(&stream, &batch) && batch.release) {
		rows += batch.length;
		batch.release(&batch);
	}
	stream.release(&stream);
	return rows;
}

static void check_whole(int status, gpumemtrace_recording *recording)
{
	if (status)
		fail_msg("%d: %s", status, error);
	assert_null(gpumemtrace_read_warning(recording, 0));
	assert_true(gpumemtrace_read_is_complete(recording));
	assert_int_equal(count_events(recording), EVENTS);
	gpumemtrace_read_close(recording);
}

/* The state of the functions below, which read the recording's bytes. */
struct read_position {
	size_t at, end;
	size_t max_bytes;   /* of a call */
	int64_t end_result; /* what a call returns at the end */
	unsigned calls;
};

static int64_t read_next(void *user, void *buffer, size_t bytes)
{
	struct read_position *position = user;
	size_t left = position->end - position->at;

	position->calls++;
	assert_true(bytes > 0);
	bytes = bytes < position->max_bytes ? bytes : position->max_bytes;
	bytes = bytes < left ? bytes : left;
	memcpy(buffer, content + position->at, bytes);
	position->at += bytes;
	return bytes ? (int64_t)bytes : position->end_result;
}

static int64_t read_at(void *user, uint64_t offset, void *buffer, size_t bytes)
{
	struct read_position *position = user;

	assert_int_equal(offset, position->at);
	return read_next(user, buffer, bytes);
}

static struct gpumemtrace_read_input input_of(struct read_position *position)
{
	return (struct gpumemtrace_read_input){
		.struct_bytes = sizeof(struct gpumemtrace_read_input),
		.name = "s3://bucket/x",
		.user = position,
		.read = read_next,
	};
}

static int open_input(struct read_position *position, gpumemtrace_recording **ret_recording)
{
	struct gpumemtrace_read_input input = input_of(position);

	return gpumemtrace_read_open_input(&input, ret_recording, error, sizeof(error));
}

static void functions_give_the_recording_in_parts_of_any_size(void **state)
{
	gpumemtrace_recording *recording;

	(void)state;
	for (size_t most = 7; most < content_bytes * 40; most *= 37) {
		struct read_position position = { .end = content_bytes, .max_bytes = most };
		struct gpumemtrace_read_input input = input_of(&position);

		int status = open_input(&position, &recording);

		check_whole(status, recording);
		assert_int_equal(position.at, content_bytes);
		position.at = 0;
		input.read = NULL;
		input.read_at = read_at;
		status = gpumemtrace_read_open_input(&input, &recording, error, sizeof(error));
		check_whole(status, recording);
	}
}

static void bytes_that_end_early_are_a_cut_recording(void **state)
{
	struct read_position position = { .end = content_bytes / 2, .max_bytes = SIZE_MAX };
	gpumemtrace_recording *recording;

	(void)state;
	assert_int_equal(open_input(&position, &recording), 0);
	assert_true(gpumemtrace_read_is_damaged(recording));
	assert_non_null(strstr(gpumemtrace_read_warning(recording, 0),
		"s3://bucket/x: it ends in the"));
	assert_true(count_events(recording) > 1000 && count_events(recording) < EVENTS);
	gpumemtrace_read_close(recording);
	position = (struct read_position){ .end = 0, .max_bytes = 1 };
	assert_int_equal(open_input(&position, &recording), GPUMEMTRACE_READ_FORMAT);
	assert_string_equal(error, "s3://bucket/x: is empty");
}

static void a_failed_read_is_an_error_at_any_place(void **state)
{
	gpumemtrace_recording *recording;

	(void)state;
	for (size_t end = 0; end < content_bytes; end = end * 9 + 5) {
		/* More bytes than requested are a failure too. */
		struct read_position position = {
			.end = end, .max_bytes = SIZE_MAX, .end_result = end % 2 ? -1 : 1 << 30
		};

		recording = (void *)1;
		assert_int_equal(open_input(&position, &recording), GPUMEMTRACE_READ_NO_FILE);
		assert_null(recording);
		assert_non_null(strstr(error, "s3://bucket/x: cannot be read: a read failed"));
	}
}

static void bytes_that_are_no_recording_are_not_read_to_their_end(void **state)
{
	struct read_position position = { .at = 1000, .end = content_bytes, .max_bytes = SIZE_MAX };
	gpumemtrace_recording *recording;

	(void)state;
	assert_int_equal(open_input(&position, &recording), GPUMEMTRACE_READ_FORMAT);
	assert_int_equal(position.calls, 1);
}

static void memory_and_descriptors_give_the_recording(void **state)
{
	gpumemtrace_recording *recording;
	int fd = open(path, O_RDONLY | O_CLOEXEC), status;
	FILE *pipe;
	char command[128];

	(void)state;
	status = gpumemtrace_read_open_memory(content, content_bytes, NULL, &recording, error,
		sizeof(error));
	check_whole(status, recording);
	status = gpumemtrace_read_open_descriptor(fd, "file", &recording, error, sizeof(error));
	check_whole(status, recording);
	/* It reads from the position, which is now the end. */
	assert_int_equal(gpumemtrace_read_open_descriptor(fd, "file", &recording, error, sizeof(error)),
		GPUMEMTRACE_READ_FORMAT);
	assert_string_equal(error, "file: is empty");
	assert_int_equal(close(fd), 0);
	assert_int_equal(gpumemtrace_read_open_descriptor(-1, NULL, &recording, error, sizeof(error)),
		GPUMEMTRACE_READ_NO_FILE);
	assert_string_equal(error, "stream: cannot be read: Bad file descriptor");
	snprintf(command, sizeof(command), "cat %s", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	status = gpumemtrace_read_open_descriptor(fileno(pipe), NULL, &recording, error, sizeof(error));
	check_whole(status, recording);
	pclose(pipe);
	assert_int_equal(gpumemtrace_read_open_memory(content, 0, "name", &recording, error, 7),
		GPUMEMTRACE_READ_FORMAT);
	assert_string_equal(error, "name: ");
}

static void an_input_needs_one_function(void **state)
{
	struct read_position position = { .end = content_bytes, .max_bytes = SIZE_MAX };
	struct gpumemtrace_read_input input = input_of(&position);
	gpumemtrace_recording *recording;
	int status;

	(void)state;
	input.read_at = read_at;
	assert_int_equal(gpumemtrace_read_open_input(&input, &recording, error, sizeof(error)),
		GPUMEMTRACE_READ_ARGUMENT);
	input.read = NULL;
	input.read_at = NULL;
	assert_int_equal(gpumemtrace_read_open_input(&input, &recording, NULL, 0),
		GPUMEMTRACE_READ_ARGUMENT);
	/* A caller whose structure ends after `read` has no `read_at`. */
	input.read = read_next;
	input.read_at = read_at;
	input.struct_bytes = offsetof(struct gpumemtrace_read_input, read_at);
	status = gpumemtrace_read_open_input(&input, &recording, error, sizeof(error));
	check_whole(status, recording);
}

static void a_dash_is_the_name_of_a_file(void **state)
{
	gpumemtrace_recording *recording;

	(void)state;
	assert_int_equal(gpumemtrace_read_open("-", &recording, error, sizeof(error)),
		GPUMEMTRACE_READ_NO_FILE);
	assert_string_equal(error, "./-: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_give_the_recording_in_parts_of_any_size),
		cmocka_unit_test(bytes_that_end_early_are_a_cut_recording),
		cmocka_unit_test(a_failed_read_is_an_error_at_any_place),
		cmocka_unit_test(bytes_that_are_no_recording_are_not_read_to_their_end),
		cmocka_unit_test(memory_and_descriptors_give_the_recording),
		cmocka_unit_test(an_input_needs_one_function),
		cmocka_unit_test(a_dash_is_the_name_of_a_file),
	};

	return cmocka_run_group_tests_name("inputs", tests, write_recording, remove_recording);
}
