/* SPDX-License-Identifier: MIT */
#include "tools/live/live_target.h"

#include <string.h>

#include "base/pages.h"
#include "shared_memory/shared_recording_reader.h"
#include "system/monotonic_clock.h"
#include "tools/recordings/shared_recordings.h"

#define RESTART_NS UINT64_C(30000000000)

/* Drops all data of the recording, also the names, because a new file has other traces. */
static void reset(struct gmt_live_target *target)
{
	gmt_live_view_fini(&target->view);
	gmt_live_names_fini(&target->names);
	gmt_follow_close(target->follow);
	gmt_shared_recording_close(target->shared_recording);
	target->names = (struct gmt_live_names){ 0 };
	target->view = (struct gmt_live_view){ 0 };
	target->follow = NULL;
	target->shared_recording = NULL;
	target->has_view = target->is_up_to_date = false;
}

/* Sets target->is_running. Returns the shared-memory recording of a killed process, or NULL. */
static struct gmt_shared_recording *find_process(struct gmt_live_target *target)
{
	uint32_t pid = 0;
	struct gmt_shared_recording *leftover = gmt_shared_recordings_find(target->path, &pid);

	if (pid)
		target->pid = pid;
	/*
	 * Memory that is private to the process cannot be found, so the list of processes counts too.
	 */
	target->is_running = pid || (target->is_listed && !leftover);
	return leftover;
}

static bool open_follow(struct gmt_live_target *target, struct gmt_shared_recording *leftover)
{
	enum gmt_follow_mode way = !target->is_running ? GMT_FOLLOW_ENDED
		: target->has_late_events                  ? GMT_FOLLOW_DISORDERED
												   : GMT_FOLLOW_GROWING;
	enum gmt_status status =
		gmt_follow_open(target->path, way, leftover, &target->follow, &target->error);

	target->shared_recording = leftover;
	if (status == GMT_FORMAT && target->is_running)
		gmt_error_set(&target->error, status,
			"%s: process %u is recording, but has written no data yet", target->path, target->pid);
	if (!status)
		target->error.text[0] = 0;
	return !status;
}

static const char *state_of(const struct gmt_live_target *target)
{
	const struct gmt_follow *follow = target->follow;

	if (target->is_running)
		return follow->marks.is_paused ? "paused" : "recording";
	/* Without an end record, the process was killed, or the file was cut. */
	return follow->recording->has_end && !target->shared_recording ? "ended" : "killed";
}

static bool read_more(struct gmt_live_target *target, uint64_t max_bytes)
{
	enum gmt_status status = target->follow->has_ended
		? GMT_END
		: gmt_follow_read(target->follow, max_bytes, &target->error);

	target->is_up_to_date = status != GMT_OK;
	/* Show the content before the damage. */
	if (status == GMT_DAMAGED && target->follow->recording->has_process) {
		target->damage = target->error;
		target->error.text[0] = 0;
	}
	return status == GMT_OK || status == GMT_END || status == GMT_DAMAGED;
}

/* Returns whether the file has its first record, about the process. If not, sets target->error. */
static bool has_process(struct gmt_live_target *target)
{
	const struct gmt_error before = target->error;
	const char *why = before.text;

	if (target->follow->recording->has_process)
		return true;
	gmt_error_set(&target->error, GMT_FORMAT, "%s: cannot be read: %.400s", target->path,
		target->is_running ? "its process has written no data yet"
			: *why         ? why
						   : "it holds no recording");
	return false;
}

/* Begins again if another file has taken the name, or if events came late. */
static void restart_if_needed(struct gmt_live_target *target)
{
	const struct gmt_follow *follow = target->follow;
	uint64_t now_ns = gmt_monotonic_ns();

	if (!follow || (!follow->is_replaced && !(follow->is_late && now_ns > target->next_restart_ns)))
		return;
	target->has_late_events = follow->is_late;
	if (follow->is_late)
		target->next_restart_ns = now_ns + RESTART_NS;
	reset(target);
}

void gmt_live_target_update(struct gmt_live_target *target, const struct gmt_live_choice *choice,
	const struct gmt_traces_options *traces, uint64_t max_bytes, size_t max_names)
{
	bool was_running = target->is_running;
	struct gmt_shared_recording *leftover = NULL;

	if (!target->follow || !target->follow->has_ended) {
		leftover = find_process(target);
		/* If the process ended normally, the file has an end record. */
		if (target->follow && was_running && !target->is_running) {
			read_more(target, UINT64_MAX);
			if (!target->follow->recording->has_end)
				reset(target);
		}
		restart_if_needed(target);
	}
	if (target->follow)
		gmt_shared_recording_close(leftover);
	else if (!open_follow(target, leftover))
		return;
	if (!read_more(target, max_bytes) || !has_process(target))
		return;
	target->state = state_of(target);
	if (gmt_live_names_add(&target->names, target->follow, traces, max_names,
			&target->unnamed_sites, &target->error))
		return;
	target->has_view = gmt_live_view_make(&target->view, target->follow, &target->names, choice);
}

struct gmt_live_process gmt_live_target_process(const struct gmt_live_target *target,
	const struct gmt_live_choice *choice)
{
	const struct gmt_follow *follow = target->follow;
	uint64_t percent = target->is_up_to_date || !follow->file_bytes
		? 100
		: follow->read_bytes * 100 / follow->file_bytes;

	return (struct gmt_live_process){
		.follow = follow,
		.view = &target->view,
		.pid = follow->recording->has_process ? follow->recording->process.pid : target->pid,
		.path = target->path,
		.state = target->state,
		.order = choice->order,
		.unnamed_sites = target->unnamed_sites,
		.read_percent = percent < 100 ? (unsigned)percent : 100,
	};
}

void gmt_live_target_fini(struct gmt_live_target *target)
{
	reset(target);
}
