/* SPDX-License-Identifier: MIT */
#include "tools/recordings/run_recordings.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "system/file_io.h"
#include "system/runtime_folder.h"
#include "base/text.h"
#include "tools/recordings/shared_recordings.h"
#include "tools/recordings/recover.h"
#include "tools/output/message.h"

enum { CHILDREN_WAIT_MS = 2000, POLL_MS = 20, MAX_PRINTED = 8 };

/* The results so far, for the messages. */
struct finish {
	const struct gmt_run_recordings *run;
	bool is_quiet;
	size_t completed, in_progress;
	uint64_t events;
};

void gmt_run_recordings_begin(struct gmt_run_recordings *ret_run, char *pattern)
{
	*ret_run = (struct gmt_run_recordings){ .pattern = pattern };
	gmt_uuid_make(ret_run->name);
	if (!gmt_uuid_is_valid(ret_run->name))
		ret_run->name[0] = 0;
	/* A run inside another run has its own name. */
	setenv("GPUMEMTRACE_RUN", ret_run->name, 1);
	glob(pattern, GLOB_BRACE, NULL, &ret_run->before);
}

static bool existed_before(const struct gmt_run_recordings *run, const char *path)
{
	for (size_t i = 0; i < run->before.gl_pathc; i++)
		if (!strcmp(run->before.gl_pathv[i], path))
			return true;
	return false;
}

/*
 * Returns whether the file belongs to another run. A file without a run name counts as this run's
 * file: its process was killed in its first moment, had no run in its environment, or used an older
 * recorder.
 */
static bool is_of_another_run(const struct gmt_run_recordings *run, const char *path)
{
	char name[GMT_UUID_BYTES];

	return run->name[0] && gmt_recording_read_run_name(path, name) && name[0] &&
		strcmp(name, run->name);
}

/*
 * Moves this run's files to the front. The recorder never overwrites files, so this run's files did
 * not exist before. Another program may write to the same folder meanwhile.
 */
static void find_files(struct gmt_run_recordings *run)
{
	glob(run->pattern, GLOB_BRACE, NULL, &run->after);
	for (size_t i = 0; i < run->after.gl_pathc; i++) {
		char *path = run->after.gl_pathv[i];

		if (existed_before(run, path) || is_of_another_run(run, path))
			continue;
		run->after.gl_pathv[i] = run->after.gl_pathv[run->count];
		run->after.gl_pathv[run->count++] = path;
	}
}

static bool is_of_run(const struct gmt_run_recordings *run,
	const struct gmt_shared_recording *shared_recording)
{
	return shared_recording && run->name[0] &&
		!strcmp(gmt_shared_recording_owner(shared_recording)->run, run->name);
}

/* Whether a process of the run still records. */
struct living {
	const struct gmt_run_recordings *run;
	bool has_one;
};

static bool note_living(void *context, struct gmt_shared_recording *shared_recording,
	const struct gmt_error *error)
{
	struct living *living = context;

	(void)error;
	living->has_one |=
		is_of_run(living->run, shared_recording) && gmt_shared_recording_is_alive(shared_recording);
	gmt_shared_recording_close(shared_recording);
	return !living->has_one;
}

/*
 * Waits for the children, because the signal that ended the program may reach them a moment later.
 */
static void wait_for_children(const struct gmt_run_recordings *run)
{
	const struct timespec poll_interval = { .tv_nsec = POLL_MS * 1000000L };
	struct living living = { .run = run, .has_one = true };

	for (unsigned waited_ms = 0; living.has_one && waited_ms < CHILDREN_WAIT_MS;
		waited_ms += POLL_MS) {
		living.has_one = false;
		gmt_shared_recordings_each(NULL, note_living, &living);
		if (living.has_one)
			nanosleep(&poll_interval, NULL);
	}
}

static void print_completed(struct finish *finish, const struct gmt_recover_outcome *outcome)
{
	finish->completed++;
	finish->events += outcome->completed.recovered.events;
	if (finish->is_quiet || finish->completed > MAX_PRINTED)
		return;
	gmt_message_hint(
		"%s: process %" PRIu32
		" did not end normally: its recording was completed: %s events, %s of them from memory%s",
		outcome->path, outcome->pid, gmt_text_count(outcome->completed.events).text,
		gmt_text_count(outcome->completed.recovered.events).text,
		outcome->completed.recovered.has_gap ? "; a part of the file is lost" : "");
}

static void note_outcome(struct finish *finish, const struct gmt_recover_outcome *outcome)
{
	switch (outcome->state) {
	case GMT_RECOVER_COMPLETED:
		print_completed(finish, outcome);
		break;
	case GMT_RECOVER_IN_PROGRESS:
		if (!finish->is_quiet && finish->in_progress++ < MAX_PRINTED)
			gmt_message_hint("%s: in progress: process %" PRIu32 " is still recording",
				outcome->path, outcome->pid);
		break;
	case GMT_RECOVER_IS_GONE:
		if (!finish->is_quiet)
			gmt_message_hint("%s: process %" PRIu32
							 " did not end normally, and its file was removed; "
							 "`gpumemtrace recover %s -o FILE` writes the events in its memory",
				outcome->path, outcome->pid, outcome->memory);
		break;
	case GMT_RECOVER_IS_REFUSED:
	case GMT_RECOVER_FAILED:
		gmt_message_warning("%s: process %" PRIu32
							" did not end normally, and its recording was not completed: %s",
			outcome->path, outcome->pid, outcome->error.text);
		break;
	case GMT_RECOVER_NOTHING:
	case GMT_RECOVER_IS_WHOLE:
	case GMT_RECOVER_IS_UNUSABLE:
	case GMT_RECOVER_IS_DISCARDED:
		break;
	}
	if (outcome->is_not_removed)
		gmt_message_warning("%s: cannot be removed", outcome->memory);
}

static const struct gmt_recover_options in_place;

/* Completes the files that match the user's option `output`. */
static void complete_files(struct finish *finish)
{
	static struct gmt_recover_outcome outcome; /* large, so static */
	struct gmt_shared_recording *shared_recording;
	uint32_t recording_pid;

	for (size_t i = 0; i < finish->run->count; i++) {
		const char *path = finish->run->after.gl_pathv[i];

		/*
		 * Almost all processes end normally. Look for memory first, because gmt_recover_file reads
		 * a file without memory to its end.
		 */
		shared_recording = gmt_shared_recordings_find(path, &recording_pid);
		gmt_shared_recording_close(shared_recording);
		if (!shared_recording && !recording_pid)
			continue;
		gmt_recover_file(path, &in_place, &outcome);
		note_outcome(finish, &outcome);
	}
}

static bool complete_from_memory(void *context, struct gmt_shared_recording *shared_recording,
	const struct gmt_error *error)
{
	static struct gmt_recover_outcome outcome; /* large, so static */
	struct finish *finish = context;

	(void)error;
	/* complete_files already reported recorders that are still running. */
	if (is_of_run(finish->run, shared_recording) &&
		!gmt_shared_recording_is_alive(shared_recording)) {
		gmt_recover_memory(shared_recording, &in_place, &outcome);
		note_outcome(finish, &outcome);
	}
	gmt_shared_recording_close(shared_recording);
	return true;
}

/* Reads and removes the note that files/run_failure.h wrote. */
static void read_no_recording_reason(struct gmt_run_recordings *run)
{
	char folder[3800], path[4096];
	size_t length = 0;

	for (int place = 0; run->name[0] && !length && place < GMT_RUNTIME_FOLDERS; place++) {
		if (!gmt_runtime_folder((enum gmt_runtime_folder_kind)place, getenv("XDG_RUNTIME_DIR"),
				false, folder, sizeof(folder)))
			continue;
		snprintf(path, sizeof(path), "%s/%s%s", folder, run->name, GMT_RUNTIME_FAILED_SUFFIX);

		int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0)
			continue;
		length =
			gmt_file_read_at(fd, 0, run->no_recording_reason, sizeof(run->no_recording_reason) - 1);
		close(fd);
		unlink(path);
	}
	run->no_recording_reason[length] = 0;
}

void gmt_run_recordings_finish(struct gmt_run_recordings *run, bool was_killed, bool is_quiet)
{
	struct finish finish = { .run = run, .is_quiet = is_quiet };

	if (was_killed)
		wait_for_children(run);
	find_files(run);
	read_no_recording_reason(run);
	complete_files(&finish);
	/*
	 * Complete also the files of processes that had another option `output` or another working
	 * directory.
	 */
	gmt_shared_recordings_each(NULL, complete_from_memory, &finish);
	if (!is_quiet && finish.completed > MAX_PRINTED)
		gmt_message_hint(
			"in total, the recordings of %zu processes that did not end normally were completed, "
			"with %s events from memory",
			finish.completed, gmt_text_count(finish.events).text);
}

void gmt_run_recordings_fini(struct gmt_run_recordings *run)
{
	globfree(&run->before);
	globfree(&run->after);
}
