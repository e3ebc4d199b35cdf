/* SPDX-License-Identifier: MIT */
#include "tools/recordings/recover.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/recordings/shared_recordings.h"
#include "shared_memory/shared_recording_owner.h"

static void set_reason(struct gmt_recover_outcome *outcome, enum gmt_recover_state state,
	enum gmt_status status, const char *why)
{
	outcome->state = state;
	outcome->error.status = status;
	snprintf(outcome->error.text, sizeof(outcome->error.text), "%s", why);
}

static void refuse(struct gmt_recover_outcome *outcome, const char *why)
{
	set_reason(outcome, GMT_RECOVER_IS_REFUSED, GMT_NO_FILE, why);
}

static void begin(struct gmt_recover_outcome *outcome,
	const struct gmt_shared_recording *shared_recording)
{
	*outcome = (struct gmt_recover_outcome){ .state = GMT_RECOVER_NOTHING };
	if (!shared_recording)
		return;
	outcome->pid = gmt_shared_recording_owner(shared_recording)->pid;
	outcome->memory_bytes = gmt_shared_recording_allocated_bytes(shared_recording);
	snprintf(outcome->memory, sizeof(outcome->memory), "%s",
		gmt_shared_recording_path(shared_recording));
	snprintf(outcome->path, sizeof(outcome->path), "%s",
		gmt_shared_recording_owner(shared_recording)->path);
}

static void remove_memory(struct gmt_shared_recording *shared_recording,
	const struct gmt_recover_options *options, struct gmt_recover_outcome *outcome)
{
	if (!options->keep && !options->is_dry_run)
		outcome->is_not_removed = !gmt_shared_recordings_remove(shared_recording);
}

/*
 * Returns whether the memory may be removed. If `from` is a copy, the original file still needs the
 * memory, unless the original file is gone.
 */
static bool is_no_longer_needed(const struct gmt_replaceable_file *from,
	const struct gmt_shared_recording *shared_recording)
{
	const struct gmt_shared_recording_owner *owner = gmt_shared_recording_owner(shared_recording);

	return !from ||
		(from->identity.device == owner->file_device &&
			from->identity.inode == owner->file_inode) ||
		!strcmp(from->path, owner->path) || !gmt_shared_recording_has_file(owner);
}

/* Completes the file. `from` NULL: the file is gone. */
static void complete(const struct gmt_replaceable_file *from,
	struct gmt_shared_recording *shared_recording, const struct gmt_recover_options *options,
	struct gmt_recover_outcome *outcome)
{
	const struct gmt_replaceable_file *to = from;
	struct gmt_replaceable_file new = { .folder = -1, .fd = -1 };
	char why[GMT_REPLACEABLE_FILE_WHY_BYTES];

	if (options->output) {
		snprintf(outcome->path, sizeof(outcome->path), "%s", options->output);
		if (gmt_replaceable_file_open_new(options->output, options->force, &new, why) ==
			GMT_REPLACEABLE_FILE_IS_REFUSED)
			refuse(outcome, why);
		to = &new;
	} else if (!gmt_replaceable_file_is_own(from, why)) {
		refuse(outcome, why);
	}
	if (outcome->state != GMT_RECOVER_IS_REFUSED) {
		enum gmt_status status = gmt_complete_recording(from, shared_recording,
			options->is_dry_run ? NULL : to, &outcome->completed, &outcome->error);

		outcome->state = status                         ? GMT_RECOVER_FAILED
			: outcome->completed.recovered.was_complete ? GMT_RECOVER_IS_WHOLE
														: GMT_RECOVER_COMPLETED;
		if (!status && gmt_shared_recording_file_info(shared_recording)->user == geteuid() &&
			is_no_longer_needed(from, shared_recording))
			remove_memory(shared_recording, options, outcome);
	}
	gmt_replaceable_file_close(&new);
}

/* Handles memory whose file is gone or that cannot be used. */
static void discard(struct gmt_shared_recording *shared_recording,
	const struct gmt_recover_options *options, enum gmt_recover_state state,
	struct gmt_recover_outcome *outcome)
{
	outcome->state = state;
	if (!options->discard)
		return;
	if (gmt_shared_recording_file_info(shared_recording)->user != geteuid()) {
		refuse(outcome, "the memory belongs to another user");
		return;
	}
	outcome->state = GMT_RECOVER_IS_DISCARDED;
	if (!options->is_dry_run && !gmt_shared_recordings_remove(shared_recording))
		set_reason(outcome, GMT_RECOVER_FAILED, GMT_WRITE, "its memory cannot be removed");
}

/*
 * Returns why the name from the memory leads to the wrong file, or NULL if the file is right. An
 * unfinished compaction may have put another file in its place; then is_being_replaced is set.
 */
static const char *mismatch_reason(const struct gmt_replaceable_file *target,
	const struct gmt_shared_recording *shared_recording)
{
	const struct gmt_shared_recording_owner *owner = gmt_shared_recording_owner(shared_recording);
	bool is_written_file = target->identity.device == owner->file_device &&
		target->identity.inode == owner->file_inode;

	if (!gmt_shared_recordings_match(shared_recording, target->fd))
		return "it is not a recording of the process that left the memory";
	return is_written_file || atomic_load(&owner->is_being_replaced)
		? NULL
		: "it is not the file that the process wrote";
}

static void recover_from_memory(struct gmt_shared_recording *shared_recording,
	const struct gmt_recover_options *options, struct gmt_recover_outcome *outcome)
{
	char why[GMT_REPLACEABLE_FILE_WHY_BYTES];
	struct gmt_replaceable_file target;
	const char *mismatch;

	switch (gmt_replaceable_file_open_untrusted(gmt_shared_recording_owner(shared_recording)->path,
		&target, why)) {
	case GMT_REPLACEABLE_FILE_IS_REFUSED:
		refuse(outcome, why);
		break;
	case GMT_REPLACEABLE_FILE_IS_GONE:
		if (options->output)
			complete(NULL, shared_recording, options, outcome);
		else
			discard(shared_recording, options, GMT_RECOVER_IS_GONE, outcome);
		break;
	case GMT_REPLACEABLE_FILE_EXISTS:
		mismatch = mismatch_reason(&target, shared_recording);
		if (mismatch)
			refuse(outcome, mismatch);
		else
			complete(&target, shared_recording, options, outcome);
		break;
	}
	gmt_replaceable_file_close(&target);
}

void gmt_recover_memory(struct gmt_shared_recording *shared_recording,
	const struct gmt_recover_options *options, struct gmt_recover_outcome *ret_outcome)
{
	const struct gmt_shared_recording_file_info *file_info =
		gmt_shared_recording_file_info(shared_recording);
	const char *why;

	begin(ret_outcome, shared_recording);
	why = gmt_shared_recordings_unusable_reason(shared_recording);
	if (why && gmt_shared_recording_is_alive(shared_recording)) {
		ret_outcome->state = GMT_RECOVER_IN_PROGRESS;
	} else if (why) {
		discard(shared_recording, options, GMT_RECOVER_IS_UNUSABLE, ret_outcome);
		if (ret_outcome->state == GMT_RECOVER_IS_UNUSABLE)
			set_reason(ret_outcome, GMT_RECOVER_IS_UNUSABLE, GMT_NO_FILE, why);
	} else if (file_info->user != geteuid() && options->output) {
		/* File names from the memory of other users are not opened, not even for reading. */
		complete(NULL, shared_recording, options, ret_outcome);
	} else if (file_info->user != geteuid()) {
		refuse(ret_outcome,
			"the memory belongs to another user: recover it as that user, or name a file with -o");
	} else if (file_info->names != 1) {
		refuse(ret_outcome, "the memory has more than one hard link");
	} else {
		recover_from_memory(shared_recording, options, ret_outcome);
	}
}

/* Finds out whether a file without memory is complete: it has an end record. */
static void find_end(const struct gmt_replaceable_file *target, struct gmt_recover_outcome *outcome)
{
	struct gmt_source *source;
	struct gmt_block block;
	enum gmt_status status =
		gmt_source_open_descriptor(target->fd, target->path, NULL, &source, &outcome->error);

	if (status) {
		outcome->state = GMT_RECOVER_FAILED;
		return;
	}
	while (!(status = gmt_source_next(source, &block, NULL)))
		outcome->has_end |= block.kind == GMT_RECORD_END;
	gmt_source_close(source);
}

void gmt_recover_file(const char *path, const struct gmt_recover_options *options,
	struct gmt_recover_outcome *ret_outcome)
{
	char why[GMT_REPLACEABLE_FILE_WHY_BYTES];
	struct gmt_replaceable_file target;
	struct gmt_shared_recording *shared_recording = NULL;
	enum gmt_replaceable_file_state state = gmt_replaceable_file_open_named(path, &target, why);
	uint32_t recording_pid = 0;

	if (state == GMT_REPLACEABLE_FILE_EXISTS)
		shared_recording = gmt_shared_recordings_find_open(target.fd, target.path, &recording_pid);
	begin(ret_outcome, shared_recording);
	snprintf(ret_outcome->path, sizeof(ret_outcome->path), "%s", path);
	if (state == GMT_REPLACEABLE_FILE_IS_REFUSED) {
		refuse(ret_outcome, why);
	} else if (state == GMT_REPLACEABLE_FILE_IS_GONE) {
		refuse(ret_outcome, "No such file or directory");
	} else if (recording_pid) {
		ret_outcome->state = GMT_RECOVER_IN_PROGRESS;
		ret_outcome->pid = recording_pid;
	} else if (!shared_recording) {
		find_end(&target, ret_outcome);
	} else {
		complete(&target, shared_recording, options, ret_outcome);
	}
	gmt_shared_recording_close(shared_recording);
	gmt_replaceable_file_close(&target);
}
