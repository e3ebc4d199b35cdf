/* SPDX-License-Identifier: MIT */
#include "tools/recordings/recover.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/recordings/shared_recordings.h"
#include "shared_memory/shared_recording_owner.h"

static void set_why(struct gmt_recover_outcome *outcome, enum gmt_recover_state state, enum gmt_status status, const char *why)
{
	outcome->state = state;
	outcome->error.status = status;
	snprintf(outcome->error.text, sizeof(outcome->error.text), "%s", why);
}

static void refuse(struct gmt_recover_outcome *outcome, const char *why)
{
	set_why(outcome, GMT_RECOVER_IS_REFUSED, GMT_NO_FILE, why);
}

static void begin(struct gmt_recover_outcome *outcome, const struct gmt_leftover *leftover)
{
	*outcome = (struct gmt_recover_outcome){ .state = GMT_RECOVER_NOTHING };
	if (!leftover)
		return;
	outcome->pid = gmt_leftover_owner(leftover)->pid;
	outcome->memory_bytes = gmt_leftover_allocated_bytes(leftover);
	snprintf(outcome->memory, sizeof(outcome->memory), "%s", gmt_leftover_path(leftover));
	snprintf(outcome->path, sizeof(outcome->path), "%s", gmt_leftover_owner(leftover)->path);
}

static void remove_memory(struct gmt_leftover *leftover, const struct gmt_recover_options *options,
	struct gmt_recover_outcome *outcome)
{
	if (!options->keep && !options->is_dry)
		outcome->is_not_removed = !gmt_leftovers_remove(leftover);
}

/* The memory of a copy is still needed for the file itself, unless that is gone. */
static bool is_needed_no_more(const struct gmt_target *from, const struct gmt_leftover *leftover)
{
	const struct gmt_leftover_owner *owner = gmt_leftover_owner(leftover);

	return !from || (from->file.device == owner->file_device && from->file.number == owner->file_inode) ||
		!strcmp(from->path, owner->path) || !gmt_leftover_has_file(owner);
}

/* `from` NULL: the file is gone. */
static void complete(const struct gmt_target *from, struct gmt_leftover *leftover, const struct gmt_recover_options *options,
	struct gmt_recover_outcome *outcome)
{
	const struct gmt_target *to = from;
	struct gmt_target new = { .folder = -1, .fd = -1 };
	char why[GMT_TARGET_WHY_BYTES];

	if (options->output) {
		snprintf(outcome->path, sizeof(outcome->path), "%s", options->output);
		if (gmt_target_open_new(options->output, options->force, &new, why) == GMT_TARGET_IS_REFUSED)
			refuse(outcome, why);
		to = &new;
	} else if (!gmt_target_is_own(from, why)) {
		refuse(outcome, why);
	}
	if (outcome->state != GMT_RECOVER_IS_REFUSED) {
		enum gmt_status status = gmt_complete(from, leftover, options->is_dry ? NULL : to, &outcome->completed, &outcome->error);

		outcome->state = status ? GMT_RECOVER_FAILED : outcome->completed.recovered.was_whole ? GMT_RECOVER_IS_WHOLE :
			GMT_RECOVER_COMPLETED;
		if (!status && gmt_leftover_about(leftover)->user == geteuid() && is_needed_no_more(from, leftover))
			remove_memory(leftover, options, outcome);
	}
	gmt_target_close(&new);
}

/* Neither the file nor a use for the memory. */
static void discard(struct gmt_leftover *leftover, const struct gmt_recover_options *options, enum gmt_recover_state state,
	struct gmt_recover_outcome *outcome)
{
	outcome->state = state;
	if (!options->discard)
		return;
	if (gmt_leftover_about(leftover)->user != geteuid()) {
		refuse(outcome, "the memory belongs to another user");
		return;
	}
	outcome->state = GMT_RECOVER_IS_DISCARDED;
	if (!options->is_dry && !gmt_leftovers_remove(leftover))
		set_why(outcome, GMT_RECOVER_FAILED, GMT_WRITE, "its memory cannot be removed");
}

/* Whether the name that stood in the memory led to the very file. An unfinished fold may have put another in its place. */
static const char *why_not_it(const struct gmt_target *target, const struct gmt_leftover *leftover)
{
	const struct gmt_leftover_owner *owner = gmt_leftover_owner(leftover);
	bool is_very = target->file.device == owner->file_device && target->file.number == owner->file_inode;

	if (!gmt_leftovers_is_of(leftover, target->fd))
		return "it is no recording of the process that the memory is of";
	return is_very || atomic_load(&owner->is_moving) ? NULL : "it is another file than the one that the process wrote";
}

static void recover_told(struct gmt_leftover *leftover, const struct gmt_recover_options *options,
	struct gmt_recover_outcome *outcome)
{
	char why[GMT_TARGET_WHY_BYTES];
	struct gmt_target target;
	const char *why_not;

	switch (gmt_target_open_told(gmt_leftover_owner(leftover)->path, &target, why)) {
	case GMT_TARGET_IS_REFUSED:
		refuse(outcome, why);
		break;
	case GMT_TARGET_IS_GONE:
		if (options->output)
			complete(NULL, leftover, options, outcome);
		else
			discard(leftover, options, GMT_RECOVER_IS_GONE, outcome);
		break;
	case GMT_TARGET_IS_THERE:
		why_not = why_not_it(&target, leftover);
		if (why_not)
			refuse(outcome, why_not);
		else
			complete(&target, leftover, options, outcome);
		break;
	}
	gmt_target_close(&target);
}

void gmt_recover_memory(struct gmt_leftover *leftover, const struct gmt_recover_options *options,
	struct gmt_recover_outcome *ret_outcome)
{
	const struct gmt_leftover_about *about = gmt_leftover_about(leftover);
	const char *why;

	begin(ret_outcome, leftover);
	why = gmt_leftovers_why_not(leftover);
	if (why && gmt_leftover_is_alive(leftover)) {
		ret_outcome->state = GMT_RECOVER_GOES_ON;
	} else if (why) {
		discard(leftover, options, GMT_RECOVER_IS_USELESS, ret_outcome);
		if (ret_outcome->state == GMT_RECOVER_IS_USELESS)
			set_why(ret_outcome, GMT_RECOVER_IS_USELESS, GMT_NO_FILE, why);
	} else if (about->user != geteuid() && options->output) {
		/* Names of other users are not followed, not even to be read. */
		complete(NULL, leftover, options, ret_outcome);
	} else if (about->user != geteuid()) {
		refuse(ret_outcome, "the memory belongs to another user, whose names are not followed; recover it as that user, or "
			"name a file with -o");
	} else if (about->names != 1) {
		refuse(ret_outcome, "the memory has more than one name");
	} else {
		recover_told(leftover, options, ret_outcome);
	}
}

/* Nothing can be added to the file. Whether something is missing, its end says. */
static void look_for_end(const struct gmt_target *target, struct gmt_recover_outcome *outcome)
{
	struct gmt_source *source;
	struct gmt_block block;
	enum gmt_status status = gmt_source_open_descriptor(target->fd, target->path, NULL, &source, &outcome->error);

	if (status) {
		outcome->state = GMT_RECOVER_FAILED;
		return;
	}
	while (!(status = gmt_source_next(source, &block, NULL)))
		outcome->has_end |= block.kind == GMT_RECORD_END;
	gmt_source_close(source);
}

void gmt_recover_file(const char *path, const struct gmt_recover_options *options, struct gmt_recover_outcome *ret_outcome)
{
	char why[GMT_TARGET_WHY_BYTES];
	struct gmt_target target;
	struct gmt_leftover *leftover = NULL;
	enum gmt_target_state state = gmt_target_open_named(path, &target, why);
	uint32_t recording_pid = 0;

	if (state == GMT_TARGET_IS_THERE)
		leftover = gmt_leftovers_find_open(target.fd, target.path, &recording_pid);
	begin(ret_outcome, leftover);
	snprintf(ret_outcome->path, sizeof(ret_outcome->path), "%s", path);
	if (state == GMT_TARGET_IS_REFUSED) {
		refuse(ret_outcome, why);
	} else if (state == GMT_TARGET_IS_GONE) {
		refuse(ret_outcome, "No such file or directory");
	} else if (recording_pid) {
		ret_outcome->state = GMT_RECOVER_GOES_ON;
		ret_outcome->pid = recording_pid;
	} else if (!leftover) {
		look_for_end(&target, ret_outcome);
	} else {
		complete(&target, leftover, options, ret_outcome);
	}
	gmt_leftover_close(leftover);
	gmt_target_close(&target);
}
