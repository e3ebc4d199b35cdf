/* SPDX-License-Identifier: MIT */
#include "tools/recordings/load_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tools/recordings/shared_recordings.h"
#include "tools/recordings/standard_input.h"
#include "tools/output/message.h"

static void show_progress(void *user, uint64_t read_bytes, uint64_t file_bytes)
{
	gmt_progress_step(user, "reading", read_bytes, file_bytes);
}

/* `events`: number of events that are only in the memory of the killed process. */
static void hint_at_recovery(const char *path, uint64_t events)
{
	if (events)
		gmt_message_hint("%s: %s events are in the memory of the killed process; "
						 "`gpumemtrace recover` adds them to the file",
			path, gmt_text_count(events).text);
	else
		gmt_message_hint("%s: the process was killed, and the file has all of its events; "
						 "`gpumemtrace recover` completes the file",
			path);
}

/* Loads the file at `path`, or a stream. `name` is for messages. */
static int load(const char *path, const char *name, const struct gmt_source_stream *stream,
	struct gmt_recording **ret_recording)
{
	struct gmt_progress progress = { 0 };
	uint32_t recording_pid = 0;
	struct gmt_shared_recording *shared_recording =
		stream ? NULL : gmt_shared_recordings_find(path, &recording_pid);
	struct gmt_recording_load_options options = {
		.progress = show_progress,
		.user = &progress,
		.shared_recording = shared_recording,
		.recording_pid = recording_pid,
		.stream = stream,
	};
	struct gmt_error error = { 0 };
	enum gmt_status status;

	*ret_recording = NULL;
	status = gmt_recording_load(path, &options, ret_recording, &error);
	gmt_progress_end(&progress);
	if (shared_recording && !status && !(*ret_recording)->recovered.was_complete)
		hint_at_recovery(path, (*ret_recording)->recovered.events);
	gmt_shared_recording_close(shared_recording);
	if (status == GMT_NO_MEMORY)
		gmt_error_set(&error, status, "%s: out of memory", name);
	if (status == GMT_FORMAT && recording_pid)
		gmt_error_set(&error, status,
			"%s: in progress: process %u is recording, but has written no data yet", path,
			recording_pid);
	if (status == GMT_NO_FILE && strstr(path, "://"))
		gmt_message_hint("to read an object, pipe it: `aws s3 cp %s - | gpumemtrace VERB -`", path);
	if (status)
		return gmt_message_failure(&error);
	if ((*ret_recording)->recording_pid)
		gmt_message_hint(
			"%s: in progress: process %u is still recording; the file has %s events so far", path,
			recording_pid, gmt_text_count((*ret_recording)->seen_events).text);
	if ((*ret_recording)->damaged)
		gmt_message_warning("%s: %s; the output covers the %s events before that", name,
			(*ret_recording)->damage, gmt_text_count((*ret_recording)->seen_events).text);
	return 0;
}

int gmt_input_load(const char *path, struct gmt_recording **ret_recording)
{
	const struct gmt_source_stream *stream = NULL;
	struct gmt_error error = { 0 };

	*ret_recording = NULL;
	if (gmt_standard_input_is(path) && gmt_standard_input_begin(&stream, &error))
		return gmt_message_failure(&error);
	return load(path, gmt_standard_input_name(path), stream, ret_recording);
}

int gmt_input_load_stream(const struct gmt_source_stream *stream,
	struct gmt_recording **ret_recording)
{
	return load(stream->name, stream->name, stream, ret_recording);
}

enum gmt_status gmt_input_open(const char *path, struct gmt_shared_recording *shared_recording,
	struct gmt_source **ret_source, struct gmt_error *error)
{
	const struct gmt_source_stream *stream;
	enum gmt_status status;

	if (!gmt_standard_input_is(path))
		return gmt_source_open_with(path, shared_recording, ret_source, error);
	*ret_source = NULL;
	status = gmt_standard_input_begin(&stream, error);
	return status ? status : gmt_source_open_stream(stream, ret_source, error);
}

char *gmt_input_read_text(const char *path)
{
	enum { MAX_BYTES = 64 << 20 };
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0, length = 0;

	while (file && !ferror(file) && !feof(file) && size < MAX_BYTES) {
		char *more = realloc(text, (size = size ? 2 * size : 65536) + 1);

		if (!more)
			break;
		text = more;
		length += fread(text + length, 1, size - length, file);
	}
	bool done = file && feof(file) && !ferror(file);
	int error_number = file && !feof(file) ? EFBIG : errno;
	if (file)
		fclose(file);
	if (!done) {
		free(text);
		errno = error_number;
		return NULL;
	}
	text[length] = 0;
	return text;
}
