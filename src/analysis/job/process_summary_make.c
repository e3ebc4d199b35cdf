/* SPDX-License-Identifier: MIT */
#include "analysis/job/process_summary_make.h"

#include <string.h>

#include "analysis/job/process_summary_maker.h"
#include "analysis/overview/overview.h"
#include "analysis/recording/recorded_program.h"
#include "base/text.h"
#include "reader/load/clock.h"

/* Arguments are separated by spaces here: they are compared and shown, never run. */
static uint32_t make_command(struct gmt_process_summary_maker *maker)
{
	const struct gmt_recording *recording = maker->input->recording;
	char text[1024];
	size_t length = 0;

	for (size_t i = 0; i < recording->command.count && length < sizeof(text) - 8; i++) {
		if (i)
			text[length++] = ' ';
		gmt_text_copy(text + length, sizeof(text) - length, recording->command.items[i]);
		length += strlen(text + length);
	}
	text[length] = 0;
	return gmt_process_summary_make_text(maker, text);
}

static const char *text_of(const struct gmt_slice *slice)
{
	/* The recording's copies end with NUL. */
	return slice->text ? slice->text : "";
}

static void copy_process(struct gmt_process_summary_maker *maker,
	struct gmt_process_summary *summary)
{
	const struct gmt_recording *recording = maker->input->recording;
	const struct gmt_process *process = &recording->process;
	const char *slash = strrchr(recording->path, '/');

	summary->path = recording->path;
	summary->file = gmt_process_summary_make_text(maker, slash ? slash + 1 : recording->path);
	summary->program = gmt_process_summary_make_text(maker, gmt_recorded_program(recording));
	summary->host = gmt_process_summary_make_text(maker, recording->host);
	summary->executable = gmt_process_summary_make_text(maker, recording->executable);
	summary->command = make_command(maker);
	summary->directory = gmt_process_summary_make_text(maker, recording->directory);
	summary->recorder_version = gmt_process_summary_make_text(maker, recording->recorder_version);
	summary->machine = gmt_process_summary_make_text(maker, recording->machine);
	summary->recording = gmt_process_summary_make_text(maker, text_of(&process->recording));
	summary->run = gmt_process_summary_make_text(maker, text_of(&process->run));
	summary->pid = process->pid;
	summary->parent_pid = process->parent_pid;
	summary->rank = recording->has_process ? process->rank : -1;
	summary->local_rank = recording->has_process ? process->local_rank : -1;
	summary->start_time_ns = process->start_time_ns;
	summary->file_bytes = recording->file_bytes;
	summary->events = recording->seen_events;
	summary->dropped_events = gmt_recording_dropped(recording);
	summary->duration_ns = gmt_recording_duration_ns(recording);
	summary->is_complete = gmt_recording_complete(recording);
	summary->damage = gmt_process_summary_make_text(maker, recording->damage);
}

static void copy_machine(struct gmt_process_summary_maker *maker,
	struct gmt_process_summary *summary)
{
	const struct gmt_recording *recording = maker->input->recording;

	summary->devices =
		gmt_process_summary_make_rows(maker, recording->devices.count, sizeof(*summary->devices));
	for (size_t i = 0; summary->devices && i < recording->devices.count; i++) {
		const struct gmt_device *device = &recording->devices.items[i];

		summary->devices[summary->device_count++] = (struct gmt_summarized_device){
			.ordinal = device->ordinal,
			.name = gmt_process_summary_make_text(maker, text_of(&device->name)),
			.uuid = gmt_process_summary_make_text(maker, text_of(&device->uuid)),
			.total_bytes = device->total_bytes,
		};
	}
	summary->variables = gmt_process_summary_make_rows(maker, recording->environment.count,
		sizeof(*summary->variables));
	for (size_t i = 0; summary->variables && i < recording->environment.count; i++)
		summary->variables[summary->variable_count++] = (struct gmt_summarized_variable){
			.name = gmt_process_summary_make_text(maker,
				text_of(&recording->environment.items[i].name)),
			.value = gmt_process_summary_make_text(maker,
				text_of(&recording->environment.items[i].value)),
		};
}

static struct gmt_summarized_account make_account(struct gmt_process_summary_maker *maker,
	size_t index)
{
	const struct gmt_process_summary_input *input = maker->input;
	const struct gmt_account *account = &input->replay->accounting.accounts.items[index];
	const struct gmt_account end = gmt_replay_end_account(input->replay, index);
	const struct gmt_phase *phase = gmt_timeline_phase(input->timeline, account->peak_stamp, false);
	struct gmt_summarized_account row = {
		.layer = account->layer,
		.device = account->device,
		.peak_bytes = account->peak_bytes,
		.peak_blocks = account->peak_blocks,
		.peak_time_ns = gmt_clock_time_ns(input->recording, account->peak_stamp),
		.peak_phase = gmt_process_summary_make_text(maker, phase ? phase->name : ""),
		.end_bytes = end.live_bytes,
		.end_blocks = end.live_blocks,
		.alloc_count = account->alloc_count,
		.total_bytes = account->total_bytes,
		.has_reserved = account->has_totals,
		.reserved_peak_bytes = account->reported_reserved_peak_bytes,
		.reserved_end_bytes = account->reported_reserved_bytes,
	};

	row.has_step = input->timeline->series_count &&
		gmt_series_find(&input->timeline->series[0], account->peak_stamp, &row.peak_step);
	return row;
}

/* The account that the user asks about comes first. */
static void make_accounts(struct gmt_process_summary_maker *maker,
	struct gmt_process_summary *summary)
{
	const struct gmt_accounting *accounting = &maker->input->replay->accounting;
	const struct gmt_account *first = gmt_overview_find_account(accounting);

	if (!first)
		return;
	maker->account = (size_t)(first - accounting->accounts.items);
	summary->accounts = gmt_process_summary_make_rows(maker, accounting->accounts.count,
		sizeof(*summary->accounts));
	if (!summary->accounts)
		return;
	summary->accounts[summary->account_count++] = make_account(maker, maker->account);
	for (size_t i = 0; i < accounting->accounts.count; i++)
		if (i != maker->account && accounting->accounts.items[i].peak_bytes)
			summary->accounts[summary->account_count++] = make_account(maker, i);
}

/* Each row has the same number of steps, a power of two, so that rows of two processes match. */
static void make_step_curve(struct gmt_process_summary_maker *maker,
	struct gmt_process_summary *summary)
{
	const struct gmt_process_summary_input *input = maker->input;
	const struct gmt_history_series *series = &input->history->series[0];
	const struct gmt_step_series *steps = &input->timeline->series[0];
	size_t count = input->timeline->series_count ? series->step_count : 0, width = 1;

	summary->steps = count;
	summary->step_source =
		gmt_process_summary_make_text(maker, count ? gmt_step_source_name(steps->source) : "");
	if (!count || !summary->account_count)
		return;
	while ((count + width - 1) / width > GMT_SUMMARY_STEPS)
		width *= 2;
	summary->step_curve = gmt_process_summary_make_rows(maker, (count + width - 1) / width,
		sizeof(*summary->step_curve));
	for (size_t step = 0; summary->step_curve && step < count; step++) {
		struct gmt_summarized_steps *row = &summary->step_curve[step / width];
		struct gmt_history_step held = gmt_history_step_of(series, step, maker->account);

		if (step % width == 0) {
			row->first_step = (uint32_t)step;
			summary->step_count++;
		}
		if (held.peak_bytes > row->peak_bytes)
			row->peak_bytes = held.peak_bytes;
		row->end_bytes = held.end_live_bytes;
		row->end_time_ns = gmt_clock_time_ns(input->recording, steps->steps.items[step].end);
	}
}

static void make_time_curve(struct gmt_process_summary_maker *maker,
	struct gmt_process_summary *summary)
{
	const struct gmt_time_curves *curves = maker->input->curves;
	const struct gmt_time_curve *curve =
		maker->account < GMT_TIME_CURVE_ACCOUNTS ? &curves->accounts[maker->account] : NULL;

	if (!summary->account_count || !curve || curve->count <= curves->first_known)
		return;
	summary->time_curve = gmt_process_summary_make_rows(maker, curve->count - curves->first_known,
		sizeof(*summary->time_curve));
	for (size_t i = curves->first_known; summary->time_curve && i < curve->count; i++)
		summary->time_curve[summary->time_count++] = (struct gmt_summarized_time){
			.end_time_ns = gmt_clock_time_ns(maker->input->recording,
				curves->first_stamp + (i + 1) * curves->ticks_per_point),
			.peak_bytes = curve->peak_bytes[i],
			.end_bytes = curve->end_bytes[i],
		};
}

static void make_uses(struct gmt_process_summary_maker *maker, struct gmt_process_summary *summary)
{
	const struct gmt_ledger *ledger = maker->input->ledger;

	summary->uses =
		gmt_process_summary_make_rows(maker, ledger->entries.count, sizeof(*summary->uses));
	for (size_t i = 0; summary->uses && i < ledger->entries.count; i++) {
		const struct gmt_ledger_entry *entry = &ledger->entries.items[i];
		int64_t others = entry->lines[GMT_LEDGER_OTHER_PROCESSES];

		if (!entry->has_answer || entry->moment == GMT_LEDGER_AT_REFUSAL)
			continue;
		summary->uses[summary->use_count++] = (struct gmt_summarized_use){
			.device = entry->device,
			.is_peak = entry->moment == GMT_LEDGER_AT_PEAK,
			.time_ns = entry->time_ns,
			.used_bytes = entry->used_bytes,
			.total_bytes = entry->total_bytes,
			.has_others = entry->known[GMT_LEDGER_OTHER_PROCESSES],
			.others_bytes = others > 0 ? (uint64_t)others : 0,
			.unexplained_bytes = entry->lines[GMT_LEDGER_UNEXPLAINED],
		};
	}
}

enum gmt_status gmt_process_summary_make_head(struct gmt_job_store *store,
	const struct gmt_recording *recording, struct gmt_process_summary *ret_summary,
	struct gmt_error *error)
{
	const struct gmt_process_summary_input input = { .recording = recording };
	struct gmt_process_summary_maker maker = { .store = store, .input = &input };

	copy_process(&maker, ret_summary);
	copy_machine(&maker, ret_summary);
	return maker.is_out_of_memory ? gmt_error_set(error, GMT_NO_MEMORY, "out of memory") : GMT_OK;
}

enum gmt_status gmt_process_summary_make(struct gmt_job_store *store,
	const struct gmt_process_summary_input *input, struct gmt_process_summary *ret_summary,
	struct gmt_error *error)
{
	struct gmt_process_summary_maker maker = { .store = store, .input = input };

	copy_process(&maker, ret_summary);
	copy_machine(&maker, ret_summary);
	make_accounts(&maker, ret_summary);
	make_step_curve(&maker, ret_summary);
	make_time_curve(&maker, ret_summary);
	make_uses(&maker, ret_summary);
	gmt_process_summary_make_places(&maker, ret_summary);
	gmt_process_summary_make_findings(&maker, ret_summary);
	gmt_process_summary_make_refusals(&maker, ret_summary);
	gmt_map_fini(&maker.places);
	return maker.is_out_of_memory ? gmt_error_set(error, GMT_NO_MEMORY, "out of memory") : GMT_OK;
}
