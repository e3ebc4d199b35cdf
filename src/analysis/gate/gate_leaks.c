/* SPDX-License-Identifier: MIT */
#include "analysis/gate/gate_judge.h"

#include "base/text.h"

/* Rules about memory that stays: leaks by definition, and growth. */

static bool is_of(const struct gmt_leak *leak, const struct gmt_account *account)
{
	return leak->layer == account->layer && leak->device == account->device;
}

unsigned gmt_judge_suppression_kinds(enum gmt_leak_definition definition)
{
	const unsigned leak = 1u << GMT_SUPPRESSION_LEAK;

	switch (definition) {
	case GMT_LEAK_PHASE:
		return leak | 1u << GMT_SUPPRESSION_PHASE;
	case GMT_LEAK_AGE:
		return leak | 1u << GMT_SUPPRESSION_AGE;
	case GMT_LEAK_EXIT:
		return leak | 1u << GMT_SUPPRESSION_EXIT;
	case GMT_LEAK_GROWTH:
		return 1u << GMT_SUPPRESSION_GROWTH;
	default: /* A suppression names a line, and this leak has no line. */
		return 0;
	}
}

/*
 * Returns whether the leak counts. A suppressed leak does not count, but is added to the totals of
 * suppressed findings.
 */
static bool counts(const struct gmt_judge *judge, const struct gmt_leak *leak)
{
	if (leak->stack == GMT_LEAK_NO_STACK ||
		!gmt_judge_suppresses(judge, gmt_judge_suppression_kinds(leak->definition), leak->stack,
			leak->bytes))
		return true;
	judge->verdict->suppressed_findings++;
	judge->verdict->suppressed_bytes += leak->bytes;
	return false;
}

static void describe_attribution_row(const struct gmt_judge *judge, struct gmt_finding *finding,
	const struct gmt_leak_attribution *attribution_row)
{
	struct gmt_verdict *verdict = judge->verdict;
	const char *blocks = attribution_row->blocks == 1 ? "block" : "blocks";

	if (attribution_row->first_step == attribution_row->last_step)
		gmt_verdict_add_evidence(verdict, finding,
			gmt_verdict_line(verdict, "step %u added %s in %s %s", attribution_row->first_step,
				gmt_text_size(attribution_row->bytes).text,
				gmt_text_count(attribution_row->blocks).text, blocks));
	else
		gmt_verdict_add_evidence(verdict, finding,
			gmt_verdict_line(verdict, "steps %u to %u added %s in %s %s",
				attribution_row->first_step, attribution_row->last_step,
				gmt_text_size(attribution_row->bytes).text,
				gmt_text_count(attribution_row->blocks).text, blocks));
}

/* The first and the last steps show that the leak continues. */
static void describe_attribution(const struct gmt_judge *judge, struct gmt_finding *finding,
	const struct gmt_leak *leak)
{
	size_t count = leak->attribution.count;

	if (count)
		describe_attribution_row(judge, finding, &leak->attribution.items[0]);
	if (count > 2)
		gmt_verdict_add_evidence(judge->verdict, finding, "...");
	if (count > 1)
		describe_attribution_row(judge, finding, &leak->attribution.items[count - 1]);
}

/* Returns the rate as text. A rate below one byte per step must not be shown as 0. */
static const char *rate_text(const struct gmt_judge *judge, double bytes_per_step)
{
	if (bytes_per_step > 0 && bytes_per_step < 1)
		return "less than 1 B";
	return gmt_verdict_line(judge->verdict, "%s",
		gmt_text_size(bytes_per_step > 0 ? (uint64_t)bytes_per_step : 0).text);
}

static void describe_steps(const struct gmt_judge *judge, struct gmt_finding *finding,
	const struct gmt_leak *leak)
{
	struct gmt_verdict *verdict = judge->verdict;

	if (leak->confidence >= 0)
		gmt_verdict_add_evidence(verdict, finding,
			gmt_verdict_line(verdict, "over %s steps; %s; confidence %.0f %%",
				gmt_text_count(leak->steps).text, gmt_leak_reason_words(leak->reason),
				leak->confidence * 100));
	if (leak->steps_to_oom != UINT64_MAX)
		gmt_verdict_add_evidence(verdict, finding,
			gmt_verdict_line(verdict, "the GPU is full after %s more steps",
				gmt_text_count(leak->steps_to_oom).text));
}

/* Reports a finding without a stack. No suppression can name it. */
static void report_unexplained(const struct gmt_judge *judge, uint32_t check,
	const struct gmt_leak *leak)
{
	struct gmt_verdict *verdict = judge->verdict;
	struct gmt_finding *finding = gmt_verdict_add_finding(verdict, check);

	if (!finding)
		return;
	finding->bytes = leak->bytes;
	finding->definition = gmt_leak_definition_name(leak->definition);
	finding->confidence = leak->confidence;
	finding->bytes_per_step = leak->bytes_per_step;
	finding->title =
		gmt_verdict_line(verdict, "grows by %s a step in total, and no single line explains it",
			rate_text(judge, leak->bytes_per_step));
	finding->hint = "look at the lines that grew most; suppressions do not cover this growth, "
					"but max-growth can allow it";
	describe_steps(judge, finding, leak);
	for (size_t i = 0; i < leak->rose_most.count; i++)
		gmt_verdict_add_evidence(verdict, finding,
			gmt_verdict_line(verdict, "grew by %s: %s",
				gmt_text_size(leak->rose_most.items[i].bytes).text,
				gmt_judge_frame_name(judge, leak->rose_most.items[i].stack,
					leak->rose_most.items[i].own_line)));
}

static void report(const struct gmt_judge *judge, uint32_t check, const struct gmt_leak *leak)
{
	static const enum gmt_suppression_kind kinds[GMT_LEAK_DEFINITIONS] = {
		[GMT_LEAK_GROWTH] = GMT_SUPPRESSION_GROWTH,
		[GMT_LEAK_PHASE] = GMT_SUPPRESSION_PHASE,
		[GMT_LEAK_AGE] = GMT_SUPPRESSION_AGE,
		[GMT_LEAK_EXIT] = GMT_SUPPRESSION_EXIT,
	};
	struct gmt_verdict *verdict = judge->verdict;
	struct gmt_finding *finding =
		gmt_judge_add_finding(judge, check, leak->stack, leak->own_line, kinds[leak->definition]);
	const char *size =
		gmt_verdict_line(verdict, "%s in %s block%s", gmt_text_size(leak->bytes).text,
			gmt_text_count(leak->blocks).text, leak->blocks == 1 ? "" : "s");

	if (!finding)
		return;
	finding->bytes = leak->bytes;
	finding->blocks = leak->blocks;
	finding->definition = gmt_leak_definition_name(leak->definition);
	finding->hint = leak->hint ? gmt_verdict_line(verdict, "%s", leak->hint) : NULL;
	finding->confidence = leak->confidence;
	finding->bytes_per_step = leak->bytes_per_step;
	if (leak->definition == GMT_LEAK_GROWTH) {
		finding->title = gmt_verdict_line(verdict, "grows by %s a step, to %s",
			rate_text(judge, leak->bytes_per_step), size);
		describe_steps(judge, finding, leak);
	} else if (leak->definition == GMT_LEAK_PHASE) {
		finding->title = gmt_verdict_line(verdict, "%s, allocated in phase `%s` and kept after it",
			size, leak->phase ? leak->phase : "?");
	} else if (leak->definition == GMT_LEAK_AGE) {
		finding->title = gmt_verdict_line(verdict, "%s, older than allowed", size);
	} else {
		finding->title = gmt_verdict_line(verdict, "%s, not freed at the end of the work", size);
	}
	describe_attribution(judge, finding, leak);
	if (leak->sites > 1)
		gmt_verdict_add_evidence(verdict, finding,
			gmt_verdict_line(verdict, "from %s stacks through this line; the largest is shown",
				gmt_text_count(leak->sites).text));
}

static void set_not_judged(const struct gmt_judge *judge, struct gmt_verdict_check *check,
	const char *why)
{
	check->state = GMT_CHECK_SKIPPED;
	check->text = gmt_verdict_line(judge->verdict, "not judged: %s", why);
}

/*
 * Turns the check into a warning, because the growth is more likely not a leak. The text has the
 * line that grows most and its reason.
 */
static void warn_of_uncertainty(const struct gmt_judge *judge, struct gmt_verdict_check *check,
	const struct gmt_leak *leak, double bytes_per_step)
{
	check->state = GMT_CHECK_WARNED;
	check->text = gmt_verdict_line(judge->verdict,
		"grows by %s a step, but with less confidence than min-confidence (%.0f %%)%s%s; %s",
		rate_text(judge, bytes_per_step), 100 * judge->gate->limits->min_confidence,
		leak->stack == GMT_LEAK_NO_STACK ? "" : ": ",
		leak->stack == GMT_LEAK_NO_STACK ? ""
										 : gmt_judge_frame_name(judge, leak->stack, leak->own_line),
		gmt_leak_reason_words(leak->reason));
}

/*
 * Returns the arena that hides the blocks of this account, so that they cannot be judged. NULL:
 * there is no such arena.
 */
static const struct gmt_arena_row *unseen_arena(const struct gmt_judge *judge,
	const struct gmt_account *account)
{
	return account->layer == GMT_LAYER_CUDA && account->device != GMT_DEVICE_HOST
		? gmt_arenas_unseen(&judge->input->leaks->arenas, account->device)
		: NULL;
}

/*
 * Returns why some of the definitions were not judged for a layer. NULL: all were judged. Layer
 * torch is judged by definition exit only on request.
 */
static const char *why_no_leak(const struct gmt_judge *judge, const struct gmt_account *account)
{
	const struct gmt_leaks *leaks = judge->input->leaks;
	uint32_t wanted = judge->gate->limits->definitions;
	bool by_end = wanted ? wanted & (1u << GMT_LEAK_EXIT | 1u << GMT_LEAK_AGE)
						 : account->layer != GMT_LAYER_TORCH;
	bool by_phases = !wanted || wanted >> GMT_LEAK_PHASE & 1;

	return by_end && leaks->why_end_not_judged ? leaks->why_end_not_judged
		: by_phases                            ? leaks->why_phases_not_judged
											   : NULL;
}

/* Each line is a leak by one definition only, so the sum counts no block twice. */
void gmt_judge_leaks(const struct gmt_judge *judge, const struct gmt_account *account)
{
	const struct gmt_leaks *leaks = judge->input->leaks;
	const struct gmt_arena_row *arena = unseen_arena(judge, account);
	uint64_t limit = judge->gate->limits->max_leaked_bytes, sum = 0;
	const char *why = why_no_leak(judge, account);
	struct gmt_verdict_check check = gmt_judge_check(judge, GMT_RULE_LEAK, account);
	GMT_VEC(const struct gmt_leak *) found = { 0 };

	for (size_t i = 0; i < leaks->rows.count; i++) {
		const struct gmt_leak *leak = &leaks->rows.items[i];

		if (!is_of(leak, account) || 1u << leak->definition & GMT_LEAK_BY_STEPS ||
			!counts(judge, leak))
			continue;
		sum += leak->bytes;

		const struct gmt_leak **row = gmt_vec_push(&found);
		judge->verdict->out_of_memory |= !row;
		if (row)
			*row = leak;
	}
	check.state = sum > limit ? GMT_CHECK_FAILED : GMT_CHECK_PASSED;
	check.measured = (double)sum;
	check.limit = (double)limit;
	check.unit = "bytes";
	check.text = gmt_verdict_line(judge->verdict, "%s leaked%s%.64s%s, %s allowed",
		gmt_text_size(sum).text, arena ? " outside of " : "", arena ? arena->name : "",
		arena ? "'s arena" : "", gmt_text_size(limit).text);
	if (sum <= limit && why)
		set_not_judged(judge, &check, why);

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	for (size_t i = 0; check.state == GMT_CHECK_FAILED && i < found.count; i++)
		report(judge, number, found.items[i]);
	gmt_vec_fini(&found);
}

/*
 * Returns why growth was not judged. NULL: it was judged. Each account then only skips its check;
 * gmt_judge_steps reports the reason once for the file.
 */
static const char *why_growth_is_unknown(const struct gmt_judge *judge)
{
	const struct gmt_gate_input *input = judge->input;

	if (judge->gate->limits->definitions && !(judge->gate->limits->definitions & GMT_LEAK_BY_STEPS))
		return "--definition does not include it";
	if (input->leaks->why_growth_not_judged)
		return input->leaks->why_growth_not_judged;
	if (!input->timeline->series_count)
		return input->timeline->why_no_steps ? input->timeline->why_no_steps
											 : "no steps were found";
	return NULL;
}

void gmt_judge_growth(const struct gmt_judge *judge, const struct gmt_account *account)
{
	const struct gmt_leaks *leaks = judge->input->leaks;
	double limit = judge->gate->limits->max_growth_bytes, sum = 0, unsure = 0;
	const char *why = why_growth_is_unknown(judge);
	const struct gmt_leak *warned = NULL;
	const struct gmt_arena_row *arena = unseen_arena(judge, account);
	struct gmt_verdict_check check = gmt_judge_check(judge, GMT_RULE_GROWTH, account);
	GMT_VEC(const struct gmt_leak *) found = { 0 };

	if (why) {
		set_not_judged(judge, &check, why);
		gmt_verdict_add_check(judge->verdict, check);
		return;
	}
	for (size_t i = 0; i < leaks->rows.count; i++) {
		const struct gmt_leak *leak = &leaks->rows.items[i];

		if (!is_of(leak, account) || !(1u << leak->definition & GMT_LEAK_BY_STEPS) ||
			!counts(judge, leak))
			continue;
		if (leak->confidence < judge->gate->limits->min_confidence) {
			unsure += leak->bytes_per_step > 0 ? leak->bytes_per_step : 0;
			warned = warned ? warned : leak;
			continue;
		}
		sum += leak->bytes_per_step > 0 ? leak->bytes_per_step : 0;

		const struct gmt_leak **row = gmt_vec_push(&found);
		judge->verdict->out_of_memory |= !row;
		if (row)
			*row = leak;
	}
	/*
	 * Growth outside of the arena counts. But if there is no finding, growth inside the arena is
	 * still possible.
	 */
	if (arena && sum <= limit) {
		gmt_vec_fini(&found);
		set_not_judged(judge, &check,
			gmt_verdict_line(judge->verdict, "%s%s%s", gmt_arenas_warning(arena).text,
				arena->setting ? "; to record its blocks, " : "",
				arena->setting ? arena->setting : ""));
		gmt_verdict_add_check(judge->verdict, check);
		return;
	}
	check.state = sum > limit ? GMT_CHECK_FAILED : GMT_CHECK_PASSED;
	check.measured = sum;
	check.limit = limit;
	check.unit = "bytes/step";
	/* Without a finding, memory may still rise: it may level off, or be freed later. */
	if (unsure > 0 && !(sum > 0))
		warn_of_uncertainty(judge, &check, warned, unsure);
	else if (sum > 0)
		check.text = gmt_verdict_line(judge->verdict, "grows by %s a step, %s allowed",
			rate_text(judge, sum), gmt_text_size((uint64_t)limit).text);
	else
		check.text = gmt_verdict_line(judge->verdict, "no lasting growth, %s a step allowed",
			gmt_text_size((uint64_t)limit).text);

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	for (size_t i = 0; check.state == GMT_CHECK_FAILED && i < found.count; i++)
		if (found.items[i]->stack == GMT_LEAK_NO_STACK)
			report_unexplained(judge, number, found.items[i]);
		else
			report(judge, number, found.items[i]);
	gmt_vec_fini(&found);
}

/* Returns whether the program allocated any memory. */
static bool has_memory(const struct gmt_accounting *accounting)
{
	for (size_t i = 0; i < accounting->accounts.count; i++)
		if (accounting->accounts.items[i].alloc_count &&
			gmt_layer_can_leak(accounting->accounts.items[i].layer))
			return true;
	return false;
}

/* Warns that growth could not be judged, because a passed check would hide it. */
static void warn_of_growth(const struct gmt_judge *judge)
{
	const struct gmt_limits *limits = judge->gate->limits;
	struct gmt_verdict_check check = gmt_judge_check(judge, GMT_RULE_NOT_JUDGED, NULL);
	const char *why = limits->definitions && !(limits->definitions & GMT_LEAK_BY_STEPS)
		? NULL
		: why_growth_is_unknown(judge);

	if (!why || !has_memory(&judge->input->replay->accounting))
		return;
	check.state = GMT_CHECK_WARNED;
	check.needs_steps = true;
	check.text = gmt_verdict_line(judge->verdict, "growth was not judged: %s", why);
	gmt_verdict_add_check(judge->verdict, check);
}

/*
 * Fails if the user asked for a rule about steps and the file has no steps: otherwise the check
 * would pass silently.
 */
void gmt_judge_steps(const struct gmt_judge *judge)
{
	const struct gmt_limits *limits = judge->gate->limits;
	const struct gmt_timeline *timeline = judge->input->timeline;
	struct gmt_verdict *verdict = judge->verdict;
	struct gmt_verdict_check check = gmt_judge_check(judge, GMT_RULE_GROWTH, NULL);
	const char *why = gmt_limits_ask_for_growth(limits) ? why_growth_is_unknown(judge) : NULL;

	if (limits->age.steps != UINT32_MAX && !timeline->series_count)
		why = timeline->why_no_steps ? timeline->why_no_steps : "no steps were found";
	if (!why) {
		warn_of_growth(judge);
		return;
	}
	check.state = GMT_CHECK_FAILED;
	check.needs_steps = true;
	check.text = gmt_verdict_line(verdict, "requested, but cannot be judged: %s", why);

	struct gmt_finding *finding =
		gmt_verdict_add_finding(verdict, gmt_verdict_add_check(verdict, check));
	if (!finding)
		return;
	finding->title = gmt_verdict_line(verdict, "%s", check.text);
	finding->hint = "mark steps with gpumemtrace.step() or NVTX, record more steps, "
					"or remove the options that need steps";
}
