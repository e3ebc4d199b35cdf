/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "judge_parts.h"
#include "reader/replay/replay.h"
#include "reader/load/recording.h"
#include "shared_memory/shared_recording_reader.h"

/* The live bytes at the end, and the peak, computed from the log. */
struct sums {
	uint64_t live_bytes, peak_bytes;
};

static struct sums sum_up(const struct judge_calls *calls)
{
	struct sums sums = { 0 };

	for (uint32_t i = calls->first; i < calls->last; i++) {
		const struct step_call *call = &calls->step_log->calls[i];
		uint64_t number = (call->address - STEP_FIRST_ADDRESS) >> STEP_ADDRESS_SHIFT;

		if (call->pid != (uint32_t)calls->pid)
			continue;
		if (call->kind == STEP_CALL_ALLOC)
			sums.live_bytes += call->size_bytes;
		/* Skips blocks of a parent, which this process's recording does not contain. */
		else if (call->kind == STEP_CALL_FREE && calls->step_log->calls[number].pid == call->pid)
			sums.live_bytes -= calls->step_log->calls[number].size_bytes;
		if (sums.peak_bytes < sums.live_bytes)
			sums.peak_bytes = sums.live_bytes;
	}
	return sums;
}

static void check_account(struct checklist *list, const struct gmt_replay *replay,
	uint64_t may_differ_bytes)
{
	struct sums sums = sum_up(list->calls);
	const struct gmt_account none = { 0 }, *account = &none;

	for (size_t i = 0; i < replay->accounting.accounts.count; i++)
		if (replay->accounting.accounts.items[i].layer == GMT_LAYER_CUDA &&
			replay->accounting.accounts.items[i].device >= 0)
			account = &replay->accounting.accounts.items[i];
	if (account->live_bytes != sums.live_bytes)
		checklist_wrong(list, "%" PRIu64 " bytes live at the end, recorded are %" PRIu64,
			sums.live_bytes, account->live_bytes);
	if (account->peak_bytes > sums.peak_bytes + may_differ_bytes ||
		sums.peak_bytes > account->peak_bytes + may_differ_bytes)
		checklist_wrong(list, "the peak is %" PRIu64 " bytes, recorded are %" PRIu64,
			sums.peak_bytes, account->peak_bytes);
}

static void check_accounting(struct checklist *list, const struct gmt_recording *recording,
	uint64_t may_differ_bytes)
{
	struct gmt_replay replay = { 0 };
	struct gmt_replay_options options = { .until_ns = GMT_REPLAY_TO_END };
	struct gmt_traces traces = { 0 };
	struct gmt_error error = { 0 };

	if (gmt_traces_compute(&traces, recording, &(struct gmt_traces_options){ 0 }, &error) ||
		gmt_replay_run(&replay, recording, &traces, &options, &error)) {
		checklist_wrong(list, "%s", error.text);
		return;
	}
	check_account(list, &replay, may_differ_bytes);
	gmt_replay_fini(&replay);
	gmt_traces_fini(&traces);
}

static void check_recording(struct checklist *list, const struct gmt_recording *recording,
	const struct judge_allowance *allowance)
{
	uint64_t lost = gmt_recording_dropped(recording);

	for (size_t i = 0; i < recording->events.count; i++) {
		struct gmt_recording_event event = gmt_recording_event(recording, i);

		if (event.layer == GMT_LAYER_CUDA &&
			(event.kind == GMT_KIND_ALLOC || event.kind == GMT_KIND_FREE))
			checklist_event(list, event.kind == GMT_KIND_ALLOC, event.address, event.size_bytes);
	}

	uint64_t missing = list->made - list->recorded;

	checklist_end(list, lost, allowance);
	if (gmt_recording_complete(recording) && missing > allowance->in_flight)
		checklist_wrong(list, "it says that it is complete, and %" PRIu64 " calls are missing",
			missing);
	if (!gmt_recording_complete(recording) && !lost && !allowance->may_be_incomplete)
		checklist_wrong(list, "it is not complete: %s",
			!recording->has_end      ? "it has no end"
				: recording->damaged ? recording->damage
									 : "it has other events than it says");
	if (!missing)
		check_accounting(list, recording, allowance->peak_bytes);
}

void judge_file(const char *path, const char *memory, const struct judge_calls *calls,
	const struct judge_allowance *allowance, char ret_text[JUDGE_TEXT_BYTES])
{
	struct gmt_shared_recording *shared_recording = NULL;
	struct gmt_recording *recording = NULL;
	struct gmt_error error = { 0 };
	struct checklist list;

	checklist_begin(&list, calls, ret_text);
	if (access(path, F_OK)) {
		checklist_end(&list, 0, allowance);
		return;
	}
	if ((memory && gmt_shared_recording_open(memory, &shared_recording, &error)) ||
		gmt_recording_load(path,
			&(struct gmt_recording_load_options){ .shared_recording = shared_recording },
			&recording, &error)) {
		checklist_wrong(&list, "%s", error.text);
		checklist_end(&list, list.made, allowance);
	} else {
		check_recording(&list, recording, allowance);
	}
	gmt_recording_free(recording);
	gmt_shared_recording_close(shared_recording);
}
