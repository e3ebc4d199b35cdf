/* SPDX-License-Identifier: MIT */
/* Opens recordings: files, streams, descriptors and memory. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpumemtrace-read.h"
#include "library/messages.h"
#include "library/tables/recording.h"
#include "tools/output/memory_limit.h"
#include "tools/recordings/load_input.h"

static bool keep_warnings(struct gpumemtrace_recording *recording)
{
	const char *text;

	for (unsigned i = 0; (text = gmt_messages_warning(i)); i++) {
		char **slot = gmt_vec_push(&recording->warnings);

		if (!slot || !(*slot = strdup(text))) {
			recording->warnings.count -= slot != NULL;
			return false;
		}
	}
	return true;
}

/*
 * Loads the file at `path` (or, if it is not NULL, `stream`, which has that name) under the lock of
 * the process. Returns an enum gpumemtrace_read_status.
 */
static int load(struct gpumemtrace_recording *recording, const char *path,
	const struct gmt_source_stream *stream, char *error, size_t error_bytes)
{
	struct gmt_recording **loaded = &recording->pipeline.recording;
	static bool has_memory_limit;
	int status = GPUMEMTRACE_READ_OK;

	pthread_mutex_lock(&gmt_read_process_lock);
	/* The same default as the program: half of the memory that the process may use. */
	if (!has_memory_limit)
		has_memory_limit = gmt_memory_limit_set(NULL);
	gmt_messages_clear();
	if (stream ? gmt_input_load_stream(stream, loaded) : gmt_input_load(path, loaded)) {
		status = gmt_read_recording_status(gmt_messages_failure()->status);
		if (error_bytes)
			snprintf(error, error_bytes, "%s", gmt_messages_failure()->text);
	} else if (!keep_warnings(recording)) {
		status = GPUMEMTRACE_READ_NO_MEMORY;
		if (error_bytes)
			snprintf(error, error_bytes, "%s: out of memory", path);
	}
	recording->budget = gmt_budget;
	gmt_budget.left_out = 0;
	pthread_mutex_unlock(&gmt_read_process_lock);
	return status;
}

/* Opens a file or a stream, as `load` does. */
static int open_recording(const char *path, const struct gmt_source_stream *stream,
	gpumemtrace_recording **ret_recording, char *error, size_t error_bytes)
{
	struct gpumemtrace_recording *recording = gmt_read_recording_new();
	int status = GPUMEMTRACE_READ_NO_MEMORY;

	error_bytes = error ? error_bytes : 0;
	*ret_recording = NULL;
	if (!recording) {
		if (error_bytes)
			snprintf(error, error_bytes, "%s: out of memory", path);
		return status;
	}
	status = load(recording, path, stream, error, error_bytes);
	if (status)
		gmt_read_recording_unref(recording);
	else
		*ret_recording = recording;
	return status;
}

int gpumemtrace_read_open(const char *path, gpumemtrace_recording **ret_recording, char *error,
	size_t error_bytes)
{
	/* In the program, `-` means standard input. In the library, it is a file name. */
	return open_recording(strcmp(path, "-") ? path : "./-", NULL, ret_recording, error,
		error_bytes);
}

/* Opens a stream. Its name is as in struct gpumemtrace_read_input. */
static int open_stream(const struct gmt_source_stream *stream,
	gpumemtrace_recording **ret_recording, char *error, size_t error_bytes)
{
	char name[2048];
	struct gmt_source_stream named = *stream;

	/* A long name is cut: presigned addresses of object stores are long. */
	snprintf(name, sizeof(name), "%s", stream->name ? stream->name : "stream");
	named.name = name;
	return open_recording(name, &named, ret_recording, error, error_bytes);
}

struct reading {
	struct gpumemtrace_read_input input;
	uint64_t offset; /* of the next byte */
};

static int64_t read_input(void *user, void *buffer, size_t bytes)
{
	struct reading *reading = user;
	const struct gpumemtrace_read_input *input = &reading->input;
	int64_t got = input->read ? input->read(input->user, buffer, bytes)
							  : input->read_at(input->user, reading->offset, buffer, bytes);

	/* The program reports its own failures: errno may be of any earlier call. */
	errno = 0;
	reading->offset += got > 0 ? (uint64_t)got : 0;
	return got;
}

int gpumemtrace_read_open_input(const struct gpumemtrace_read_input *input,
	gpumemtrace_recording **ret_recording, char *error, size_t error_bytes)
{
	struct reading reading = { 0 };
	const struct gmt_source_stream stream = {
		.read = read_input, .user = &reading, .name = input->name
	};
	size_t known = input->struct_bytes;

	*ret_recording = NULL;
	memcpy(&reading.input, input, known < sizeof(reading.input) ? known : sizeof(reading.input));
	if (!reading.input.read == !reading.input.read_at) {
		if (error && error_bytes)
			snprintf(error, error_bytes, "struct gpumemtrace_read_input needs `read` or `read_at`");
		return GPUMEMTRACE_READ_ARGUMENT;
	}
	return open_stream(&stream, ret_recording, error, error_bytes);
}

struct memory {
	const uint8_t *at;
	size_t left;
};

static int64_t read_memory(void *user, void *buffer, size_t bytes)
{
	struct memory *memory = user;
	size_t count = bytes < memory->left ? bytes : memory->left;

	if (count)
		memcpy(buffer, memory->at, count);
	memory->at += count;
	memory->left -= count;
	return (int64_t)count;
}

int gpumemtrace_read_open_memory(const void *bytes, size_t byte_count, const char *name,
	gpumemtrace_recording **ret_recording, char *error, size_t error_bytes)
{
	struct memory memory = { bytes, byte_count };
	const struct gmt_source_stream stream = { read_memory, &memory, name, true };

	return open_stream(&stream, ret_recording, error, error_bytes);
}

static int64_t read_descriptor(void *user, void *buffer, size_t bytes)
{
	ssize_t got;

	do
		got = read(*(const int *)user, buffer, bytes);
	while (got < 0 && errno == EINTR);
	return got;
}

int gpumemtrace_read_open_descriptor(int fd, const char *name,
	gpumemtrace_recording **ret_recording, char *error, size_t error_bytes)
{
	const struct gmt_source_stream stream = { read_descriptor, &fd, name, true };

	return open_stream(&stream, ret_recording, error, error_bytes);
}
