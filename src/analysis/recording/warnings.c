/* SPDX-License-Identifier: MIT */
#include "analysis/recording/warnings.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "analysis/allocator/arenas.h"
#include "base/budget.h"
#include "base/text.h"
#include "reader/load/clock.h"
#include "shared_memory/drop_reasons.h"

/* Maximum number of lines, one for each thread and reason. */
enum { DROPS_SHOWN = 20 };

struct lister {
	struct gmt_warnings *warnings;
	bool failed;
};

static void add(struct lister *lister, enum gmt_warning_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void add(struct lister *lister, enum gmt_warning_kind kind, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);

	char *text = gmt_arena_vprint(&lister->warnings->arena, format, arguments);

	va_end(arguments);

	struct gmt_warning *warning = text ? gmt_vec_push(&lister->warnings->rows) : NULL;
	if (warning)
		*warning = (struct gmt_warning){ kind, text };
	else
		lister->failed = true;
}

/* Adds warnings about analyses that were left out, because they exceed the limit of work. */
static void add_left_out_analyses(struct lister *lister)
{
	for (int part = 0; part < GMT_BUDGET_PARTS; part++)
		if (part != GMT_BUDGET_OUTPUT && gmt_budget.left_out >> part & 1)
			add(lister, GMT_WARNING_INCOMPLETE,
				"%s is not included, because the analysis exceeded the work limit for a file of "
				"this size (--max-work=none)",
				gmt_budget_part_text((enum gmt_budget_part)part));
}

static void add_missing_data(struct lister *lister, const struct gmt_recording *recording)
{
	if (recording->damaged)
		add(lister, GMT_WARNING_INCOMPLETE,
			"the file is damaged: %s; the report covers everything before the damage",
			recording->damage);
	else if (recording->recording_pid)
		add(lister, GMT_WARNING_INCOMPLETE,
			"in progress: process %" PRIu32
			" is still recording; the report covers the file as it is now",
			recording->recording_pid);
	else if (!recording->has_end)
		add(lister, GMT_WARNING_INCOMPLETE,
			"the recording has no end: the process was killed or is still running");
	if (recording->counts_differ)
		add(lister, GMT_WARNING_INCOMPLETE, "events are missing: %s expected, %s found",
			gmt_text_count(recording->promised_events).text,
			gmt_text_count(recording->seen_events).text);
	for (size_t i = 0; i < recording->drops.count && i < DROPS_SHOWN; i++) {
		const struct gmt_recording_drop *drop = &recording->drops.items[i];
		const struct gmt_thread *thread = gmt_recording_thread(recording, drop->thread);

		if (drop->count)
			add(lister, GMT_WARNING_INCOMPLETE, "%s events were lost: %.200s (thread %.64s)",
				gmt_text_count(drop->count).text, drop->reason,
				thread ? thread->name.text : "not known");
	}
	if (recording->drops.count > DROPS_SHOWN)
		add(lister, GMT_WARNING_INCOMPLETE,
			"more events were lost for %s other reasons; %s in total",
			gmt_text_count(recording->drops.count - DROPS_SHOWN).text,
			gmt_text_count(gmt_recording_dropped(recording)).text);
	if (recording->unknown_events)
		add(lister, GMT_WARNING_INCOMPLETE,
			"%s events of a kind that this version does not know were ignored",
			gmt_text_count(recording->unknown_events).text);
}

/* Adds a warning about the numbers that lost events change. */
static void add_effects_of_drops(struct lister *lister, const struct gmt_recording *recording)
{
	uint64_t counts[] = { [GMT_DROP_EFFECT_UNKNOWN] = 0,
		[GMT_DROP_EFFECT_NONE] = 0,
		[GMT_DROP_EFFECT_TOO_FEW] = 0,
		[GMT_DROP_EFFECT_TOO_MANY] = 0 };

	for (size_t i = 0; i < recording->drops.count; i++) {
		uint64_t *count = &counts[gmt_drop_effect_of_reason(recording->drops.items[i].reason)];

		*count = gmt_saturating_add_u64(*count, recording->drops.items[i].count);
	}
	if (counts[GMT_DROP_EFFECT_UNKNOWN])
		add(lister, GMT_WARNING_INCOMPLETE,
			"numbers of live blocks may be wrong by up to the number of lost events");
	else if (counts[GMT_DROP_EFFECT_TOO_FEW] || counts[GMT_DROP_EFFECT_TOO_MANY])
		add(lister, GMT_WARNING_INCOMPLETE,
			"up to %s live blocks may be missing, and up to %s freed blocks may count as live; "
			"totals of sites may lack up to %s blocks",
			gmt_text_count(counts[GMT_DROP_EFFECT_TOO_FEW]).text,
			gmt_text_count(counts[GMT_DROP_EFFECT_TOO_MANY]).text,
			gmt_text_count(counts[GMT_DROP_EFFECT_TOO_FEW]).text);
	else if (counts[GMT_DROP_EFFECT_NONE])
		add(lister, GMT_WARNING_REMARK, "live blocks and totals of sites are still exact");
}

static void add_difference_from_totals(struct lister *lister, const struct gmt_account *account)
{
	if (!account->has_totals || !account->unseen_bytes)
		return;
	if (account->unseen_bytes > 0)
		add(lister, GMT_WARNING_INCOMPLETE,
			"GPU %d: PyTorch reports %" PRId64
			" bytes more than its recorded blocks: some were allocated before recording began, "
			"or were not recorded",
			account->device, account->unseen_bytes);
	else
		add(lister, GMT_WARNING_INCOMPLETE,
			"GPU %d: PyTorch reports %" PRIu64
			" bytes less than its recorded blocks: some frees were not recorded",
			account->device, -(uint64_t)account->unseen_bytes);
}

static void add_compaction(struct lister *lister, const struct gmt_recording *recording,
	const struct gmt_replay *replay)
{
	const struct gmt_compacted_prefix *compacted = &recording->compacted;
	uint64_t steps = 1;

	for (size_t i = 0; i < compacted->steps.count; i++)
		if (compacted->steps.items[i].steps > steps)
			steps = compacted->steps.items[i].steps;
	add(lister, GMT_WARNING_REMARK,
		"the first %s were compacted (%.64s): %s events were replaced by totals; "
		"totals, peaks and live blocks are exact, but earlier moments are not known",
		gmt_text_duration(gmt_clock_time_ns(recording, compacted->cut_stamp)).text,
		recording->compaction_why, gmt_text_count(gmt_recording_compacted_events(recording)).text);
	if (steps > 1)
		add(lister, GMT_WARNING_REMARK,
			"up to %s compacted steps were merged: tables by step show the same numbers for all of "
			"them",
			gmt_text_count(steps).text);
	if (compacted->merged_sites)
		add(lister, GMT_WARNING_REMARK,
			"%s allocations were compacted without their stack, because there were more sites than "
			"the limit",
			gmt_text_count(compacted->merged_sites).text);
	if (replay && replay->compacted_mismatches)
		add(lister, GMT_WARNING_INCOMPLETE,
			"the compacted totals of live or peak memory do not match the compacted blocks");
}

static void add_anomalies(struct lister *lister, const struct gmt_accounting *accounting)
{
	for (size_t i = 0; i < accounting->accounts.count; i++)
		add_difference_from_totals(lister, &accounting->accounts.items[i]);
#define GMT_ANOMALY(name, meaning) \
	if (accounting->anomalies.name) \
		add(lister, GMT_WARNING_REMARK, "%s %s", gmt_text_count(accounting->anomalies.name).text, \
			meaning);
#include "accounting/anomalies.def"
#undef GMT_ANOMALY
}

/* Adds a remark with the names of the first unhooked functions. */
static void add_unhooked(struct lister *lister, const struct gmt_recording *recording)
{
	char names[200] = "";
	size_t length = 0;

	for (size_t i = 0; i < recording->unhooked.count && length < sizeof(names) - 1; i++) {
		int added = snprintf(names + length, sizeof(names) - length, "%s%.*s", i ? ", " : "", 72,
			recording->unhooked.items[i].name.text);

		length += added > 0 ? (size_t)added : 0;
	}
	if (recording->unhooked.count)
		add(lister, GMT_WARNING_REMARK,
			"the program looked up functions that look like allocation calls but are not hooked: "
			"%s%s (see `gpumemtrace info --coverage`)",
			names, length < sizeof(names) ? "" : "...");
}

static void add_missing_names(struct lister *lister, const struct gmt_traces *traces)
{
	uint64_t unnamed = traces->addresses - traces->named;

	if (unnamed)
		add(lister, GMT_WARNING_REMARK, "%s of %s native addresses have no name",
			gmt_text_count(unnamed).text, gmt_text_count(traces->addresses).text);
	for (size_t i = 0; i < traces->problems.count; i++)
		add(lister, GMT_WARNING_REMARK, "no symbols for %.300s: %s",
			traces->problems.items[i].module, traces->problems.items[i].why);
	if (traces->mismatches)
		add(lister, GMT_WARNING_REMARK, "the native and Python frames of %s stacks do not match",
			gmt_text_count(traces->mismatches).text);
	if (traces->missing)
		add(lister, GMT_WARNING_REMARK, "%s stacks or frames are missing in the file",
			gmt_text_count(traces->missing).text);
}

/* Adds remarks about arenas of libraries whose blocks are not seen. */
static bool add_arenas(struct lister *lister, const struct gmt_replay *replay,
	const struct gmt_traces *traces, struct gmt_error *error)
{
	struct gmt_arenas arenas = { 0 };

	if (gmt_arenas_compute(&arenas, traces, replay, error))
		return false;
	for (size_t i = 0; i < arenas.rows.count; i++) {
		const struct gmt_arena_row *row = &arenas.rows.items[i];
		uint64_t bytes = row->peak_bytes > row->live_bytes ? row->peak_bytes : row->live_bytes;

		if (!row->is_seen && row->device != GMT_DEVICE_HOST)
			add(lister, GMT_WARNING_REMARK, "%s (%s on GPU %d)%s%s", gmt_arenas_warning(row).text,
				gmt_text_size(bytes).text, row->device,
				row->setting ? "; to record its blocks, " : "", row->setting ? row->setting : "");
	}
	gmt_arenas_fini(&arenas);
	return true;
}

/*
 * Adds a remark with the number of pauses and their total time. A pause without an end lasts until
 * the end of the recording.
 */
static void add_pauses(struct lister *lister, const struct gmt_recording *recording)
{
	uint64_t count = 0, paused_ns = 0, since_ns = 0;
	bool is_paused = false;

	for (size_t i = 0; i < recording->marks.count; i++) {
		const struct gmt_recording_mark *mark = &recording->marks.items[i];
		uint64_t now_ns;

		if (mark->kind != GMT_MARK_KIND_PAUSE && mark->kind != GMT_MARK_KIND_RESUME)
			continue;
		now_ns = gmt_clock_time_ns(recording, mark->stamp);
		count += mark->kind == GMT_MARK_KIND_PAUSE;
		if (is_paused)
			paused_ns += now_ns - since_ns;
		is_paused = mark->kind == GMT_MARK_KIND_PAUSE;
		since_ns = now_ns;
	}
	if (is_paused)
		paused_ns += gmt_clock_time_ns(recording, recording->last_stamp) - since_ns;
	if (count)
		add(lister, GMT_WARNING_REMARK,
			"stacks were not recorded for %s (paused %s %s): blocks of that time have none",
			gmt_text_duration(paused_ns).text, gmt_text_count(count).text,
			count == 1 ? "time" : "times");
}

enum gmt_status gmt_warnings_compute(struct gmt_warnings *ret_warnings,
	const struct gmt_recording *recording, const struct gmt_replay *replay,
	const struct gmt_traces *traces, struct gmt_error *error)
{
	struct lister lister = { .warnings = ret_warnings };

	add_left_out_analyses(&lister);
	add_missing_data(&lister, recording);
	add_effects_of_drops(&lister, recording);
	add_pauses(&lister, recording);
	if (recording->compacted.exists)
		add_compaction(&lister, recording, replay);
	if (replay && traces && !add_arenas(&lister, replay, traces, error)) {
		gmt_warnings_fini(ret_warnings);
		return GMT_NO_MEMORY;
	}
	if (replay)
		add_anomalies(&lister, &replay->accounting);
	if (traces)
		add_missing_names(&lister, traces);
	add_unhooked(&lister, recording);
	if (recording->repeated_ids)
		add(&lister, GMT_WARNING_REMARK,
			"%s records have the id of an earlier record and were ignored",
			gmt_text_count(recording->repeated_ids).text);
	if (recording->unknown_blocks)
		add(&lister, GMT_WARNING_REMARK, "%s blocks of a newer version were skipped",
			gmt_text_count(recording->unknown_blocks).text);
	for (size_t i = 0; i < recording->notes.count; i++)
		add(&lister, GMT_WARNING_REMARK, "%s", recording->notes.items[i]);
	if (!lister.failed)
		return GMT_OK;
	gmt_warnings_fini(ret_warnings);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

void gmt_warnings_fini(struct gmt_warnings *warnings)
{
	gmt_vec_fini(&warnings->rows);
	gmt_arena_fini(&warnings->arena);
}
