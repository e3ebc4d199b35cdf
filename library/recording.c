/* SPDX-License-Identifier: MIT */
#include "library/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/safe_text.h"
#include "gpumemtrace-read.h"
#include "library/messages.h"
#include "reader/load/clock.h"
#include "reader/symbols/symbols_cache.h"
#include "tools/output/memory_limit.h"
#include "tools/recordings/load_input.h"

/* Held while state of the process is used: work budget, memory limit, messages, symbol cache. */
static pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;

void gmt_read_recording_share(struct gpumemtrace_recording *recording)
{
	atomic_fetch_add_explicit(&recording->users, 1, memory_order_relaxed);
}

static void free_recording(struct gpumemtrace_recording *recording)
{
	gmt_block_list_fini(&recording->blocks);
	gmt_pipeline_fini(&recording->pipeline);
	for (size_t i = 0; i < recording->warnings.count; i++)
		free(recording->warnings.items[i]);
	gmt_vec_fini(&recording->warnings);
	pthread_mutex_destroy(&recording->lock);
	free(recording);
}

void gmt_read_recording_drop(struct gpumemtrace_recording *recording)
{
	if (atomic_fetch_sub_explicit(&recording->users, 1, memory_order_acq_rel) == 1)
		free_recording(recording);
}

static enum gmt_status find_names(struct gpumemtrace_recording *recording, struct gmt_error *error)
{
	struct gmt_pipeline_options options = { .traces.symbols_cache = gmt_symbols_cache_open() };
	enum gmt_status status = gmt_pipeline_name(&recording->pipeline, &options, error);

	gmt_symbols_cache_close(options.traces.symbols_cache);
	return status;
}

static enum gmt_status analyze(struct gpumemtrace_recording *recording, struct gmt_error *error)
{
	struct gmt_pipeline_options options = {
		.leaks = gmt_pipeline_default_leaks,
		.wants_report_details = true,
		.observer = &recording->blocks.observer,
	};

	gmt_block_list_init(&recording->blocks, recording->pipeline.recording);
	return gmt_pipeline_analyze(&recording->pipeline, &options, error);
}

enum gmt_status gmt_read_recording_prepare(struct gpumemtrace_recording *recording,
	enum gmt_read_work work, struct gmt_error *error)
{
	struct gmt_error *failure = &recording->failure;

	if (work > recording->done && !failure->status) {
		pthread_mutex_lock(&process_lock);
		gmt_budget = recording->budget;
		while (work > recording->done && !failure->status) {
			failure->status = recording->done == GMT_WORK_FILE ? find_names(recording, failure)
															   : analyze(recording, failure);
			recording->done += !failure->status;
		}
		recording->budget = gmt_budget;
		gmt_budget.left_out = 0;
		pthread_mutex_unlock(&process_lock);
	}
	if (work > recording->done)
		*error = *failure;
	return work > recording->done ? failure->status : GMT_OK;
}

int gmt_read_recording_status(enum gmt_status status)
{
	switch (status) {
	case GMT_OK:
		return GPUMEMTRACE_READ_OK;
	case GMT_USAGE:
		return GPUMEMTRACE_READ_ARGUMENT;
	case GMT_NO_FILE:
		return GPUMEMTRACE_READ_NO_FILE;
	case GMT_FORMAT:
	case GMT_DAMAGED:
		return GPUMEMTRACE_READ_FORMAT;
	case GMT_VERSION:
		return GPUMEMTRACE_READ_NEWER;
	case GMT_NO_MEMORY:
		return GPUMEMTRACE_READ_NO_MEMORY;
	default:
		return GPUMEMTRACE_READ_FAILED;
	}
}

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

	pthread_mutex_lock(&process_lock);
	/* Half of the machine's memory, as for the program. */
	if (!has_memory_limit)
		has_memory_limit = gmt_memory_limit(NULL);
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
	pthread_mutex_unlock(&process_lock);
	return status;
}

/* Opens a file or a stream, as `load` does. */
static int open_recording(const char *path, const struct gmt_source_stream *stream,
	gpumemtrace_recording **ret_recording, char *error, size_t error_bytes)
{
	struct gpumemtrace_recording *recording = calloc(1, sizeof(*recording));
	int status = GPUMEMTRACE_READ_NO_MEMORY;

	error_bytes = error ? error_bytes : 0;
	*ret_recording = NULL;
	if (!recording) {
		if (error_bytes)
			snprintf(error, error_bytes, "%s: out of memory", path);
		return status;
	}
	atomic_init(&recording->users, 1);
	pthread_mutex_init(&recording->lock, NULL);
	status = load(recording, path, stream, error, error_bytes);
	if (status)
		gmt_read_recording_drop(recording);
	else
		*ret_recording = recording;
	return status;
}

int gpumemtrace_read_open(const char *path, gpumemtrace_recording **ret_recording, char *error,
	size_t error_bytes)
{
	/* The program reads standard input for `-`. In the library, it is a name like any other. */
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

void gpumemtrace_read_close(gpumemtrace_recording *recording)
{
	if (recording)
		gmt_read_recording_drop(recording);
}

const char *gpumemtrace_read_warning(gpumemtrace_recording *recording, size_t index)
{
	return index < recording->warnings.count ? recording->warnings.items[index] : NULL;
}

bool gmt_read_recording_is_complete(struct gpumemtrace_recording *recording)
{
	bool is_complete;

	pthread_mutex_lock(&process_lock);
	gmt_budget = recording->budget;
	is_complete = gmt_recording_complete(recording->pipeline.recording);
	gmt_budget.left_out = 0;
	pthread_mutex_unlock(&process_lock);
	return is_complete;
}

int64_t gmt_read_recording_time_ns(const struct gpumemtrace_recording *recording, uint64_t stamp)
{
	uint64_t time_ns = gmt_clock_time_ns(recording->pipeline.recording, stamp);

	return time_ns > INT64_MAX ? INT64_MAX : (int64_t)time_ns;
}

int gpumemtrace_read_is_complete(gpumemtrace_recording *recording)
{
	bool is_complete;

	pthread_mutex_lock(&recording->lock);
	is_complete = gmt_read_recording_is_complete(recording);
	pthread_mutex_unlock(&recording->lock);
	return is_complete;
}

int gpumemtrace_read_is_damaged(gpumemtrace_recording *recording)
{
	return recording->pipeline.recording->damaged;
}

int64_t gpumemtrace_read_duration_ns(gpumemtrace_recording *recording)
{
	return gmt_read_recording_time_ns(recording, recording->pipeline.recording->last_stamp);
}
