/* SPDX-License-Identifier: MIT */
#include "analysis/gate/gate.h"

#include <string.h>

#include "analysis/gate/gate_judge.h"

/* Copies a text into the verdict. Returns "" when out of memory. */
static const char *copy(struct gmt_verdict *verdict, const char *text)
{
	const char *line = gmt_arena_copy(&verdict->arena, text, strlen(text));

	verdict->out_of_memory |= !line;
	return line ? line : "";
}

static void add_subject(struct gmt_judge *judge)
{
	const struct gmt_recording *recording = judge->input->recording;
	struct gmt_verdict *verdict = judge->verdict;
	struct gmt_verdict_subject *subject = gmt_vec_push(&verdict->subjects);

	verdict->out_of_memory |= !subject;
	if (!subject)
		return;
	judge->subject = (uint32_t)verdict->subjects.count - 1;
	*subject = (struct gmt_verdict_subject){
		.path = copy(verdict, recording->path),
		.host = copy(verdict, recording->host),
		.directory = copy(verdict, recording->directory),
		.pid = recording->process.pid,
		.parent_pid = recording->process.parent_pid,
		.rank = recording->has_process ? recording->process.rank : -1,
		.events = recording->seen_events,
		.complete = gmt_recording_complete(recording),
		.has_steps = judge->input->timeline->series_count,
	};
}

/*
 * Each rule of rules.def has GMT_JUDGES_ACCOUNT(function) and GMT_JUDGES_FILE(function) in its last
 * column. The two functions below expand one of them to a call and the other to nothing.
 */
#define GMT_RULE(NAME, id, name, meaning, advice, fails_if, judged, judges) judges

static void judge_account(const struct gmt_judge *judge, const struct gmt_account *account)
{
#define GMT_JUDGES_ACCOUNT(judges) judges(judge, account);
#define GMT_JUDGES_FILE(judges)
#include "analysis/gate/rules.def"
#undef GMT_JUDGES_ACCOUNT
#undef GMT_JUDGES_FILE
}

static void judge_file(const struct gmt_judge *judge)
{
#define GMT_JUDGES_ACCOUNT(judges)
#define GMT_JUDGES_FILE(judges) judges(judge);
#include "analysis/gate/rules.def"
#undef GMT_JUDGES_ACCOUNT
#undef GMT_JUDGES_FILE
}

#undef GMT_RULE

enum gmt_status gmt_gate_judge(struct gmt_verdict *verdict, const struct gmt_gate *gate,
	const struct gmt_gate_input *input, struct gmt_error *error)
{
	struct gmt_judge judge = { .verdict = verdict, .gate = gate, .input = input };
	const struct gmt_accounting *accounting = &input->replay->accounting;

	add_subject(&judge);
	for (size_t i = 0; !verdict->out_of_memory && i < accounting->accounts.count; i++) {
		const struct gmt_account *account = &accounting->accounts.items[i];

		/*
		 * Skip accounts without an allocation: they have only refused requests or frees. Also skip
		 * memory that the driver takes for itself: the program did not request it, and its size
		 * differs from run to run.
		 */
		if (!account->alloc_count || !gmt_layer_can_leak(account->layer))
			continue;
		judge_account(&judge, account);
	}
	if (!verdict->out_of_memory)
		judge_file(&judge);
	return verdict->out_of_memory ? gmt_error_set(error, GMT_NO_MEMORY, "out of memory") : GMT_OK;
}
