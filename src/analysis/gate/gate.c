/* SPDX-License-Identifier: MIT */
#include "analysis/gate/gate.h"

#include <string.h>

#include "analysis/gate/gate_rules.h"

static const char *copy(struct gmt_verdict *verdict, const char *text)
{
	const char *line = gmt_arena_copy(&verdict->arena, text, strlen(text));

	verdict->out_of_memory |= !line;
	return line ? line : "";
}

static void add_subject(struct gmt_judge *judge)
{
	const struct gmt_snapshot *snapshot = judge->input->snapshot;
	struct gmt_verdict *verdict = judge->verdict;
	struct gmt_verdict_subject *subject = gmt_vec_push(&verdict->subjects);

	verdict->out_of_memory |= !subject;
	if (!subject)
		return;
	judge->subject = (uint32_t)verdict->subjects.count - 1;
	*subject = (struct gmt_verdict_subject){
		.path = copy(verdict, snapshot->path),
		.host = copy(verdict, snapshot->host),
		.directory = copy(verdict, snapshot->directory),
		.pid = snapshot->process.pid,
		.parent_pid = snapshot->process.parent_pid,
		.rank = snapshot->has_process ? snapshot->process.rank : -1,
		.events = snapshot->seen_events,
		.complete = gmt_snapshot_complete(snapshot),
		.has_steps = judge->input->timeline->series_count,
	};
}

enum gmt_status gmt_gate_judge(struct gmt_verdict *verdict, const struct gmt_gate *gate,
	const struct gmt_gate_input *input, struct gmt_error *error)
{
	struct gmt_judge judge = { .verdict = verdict, .gate = gate, .input = input };
	const struct gmt_accounting *accounting = &input->replay->accounting;

	add_subject(&judge);
	for (size_t i = 0; !verdict->out_of_memory && i < accounting->accounts.count; i++) {
		const struct gmt_account *account = &accounting->accounts.items[i];

		/*
		 * An account with only refused requests or frees has nothing to judge. Memory that the
		 * driver takes for itself is measured and not requested, and differs from run to run.
		 */
		if (!account->alloc_count || !gmt_layer_can_leak(account->layer))
			continue;
		gmt_judge_leaks(&judge, account);
		gmt_judge_growth(&judge, account);
		gmt_judge_peak(&judge, account);
		gmt_judge_fragmentation(&judge, account);
	}
	if (!verdict->out_of_memory) {
		gmt_judge_steps(&judge);
		gmt_judge_regressions(&judge);
		gmt_judge_ooms(&judge);
		gmt_judge_frees(&judge);
		gmt_judge_incomplete(&judge);
	}
	return verdict->out_of_memory ? gmt_error_set(error, GMT_NO_MEMORY, "out of memory") : GMT_OK;
}
