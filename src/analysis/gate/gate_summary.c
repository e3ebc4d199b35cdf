/* SPDX-License-Identifier: MIT */
/*
 * Judges a summary. A summary has accounts, lines, findings and refused requests, but no events
 * and no stacks. So a suppression is compared with the line of a finding, and some rules are not
 * judged.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/gate/gate_judge.h"
#include "base/text.h"

struct judge {
	struct gmt_verdict *verdict;
	const struct gmt_gate *gate;
	const struct gmt_job_store *store;
	const struct gmt_process_summary *summary;
	uint32_t subject;
};

enum { SHOWN = 10, HOLDERS_SHOWN = 5 };

static const char *text_of(const struct judge *judge, uint32_t text)
{
	return gmt_verdict_line(judge->verdict, "%s", gmt_job_text_of(judge->store, text));
}

static struct gmt_verdict_check check_of(const struct judge *judge, enum gmt_rule rule,
	const struct gmt_summarized_account *account)
{
	struct gmt_verdict_check check = gmt_verdict_empty_check(rule, judge->subject);

	if (account) {
		check.layer = account->layer;
		check.device = account->device;
	}
	return check;
}

static void skip(const struct judge *judge, enum gmt_rule rule,
	const struct gmt_summarized_account *account, const char *why)
{
	struct gmt_verdict_check check = check_of(judge, rule, account);

	check.state = GMT_CHECK_SKIPPED;
	check.text = gmt_verdict_line(judge->verdict, "not judged: %s", why);
	gmt_verdict_add_check(judge->verdict, check);
}

/* Same as above, for a rule that an option asks for. With --strict, the verdict is not complete. */
static void skip_wanted(const struct judge *judge, enum gmt_rule rule,
	const struct gmt_summarized_account *account, const char *why)
{
	judge->verdict->not_in_summaries = true;
	skip(judge, rule, account, why);
}

/* Returns a line as text, e.g. "train.py:31 in step". */
static const char *line_text(const struct judge *judge, uint32_t number)
{
	const struct gmt_job_place *place = gmt_job_place_of(judge->store, number);
	const char *file = gmt_job_text_of(judge->store, place->file);
	const char *function = gmt_job_text_of(judge->store, place->function);

	if (!*file)
		return gmt_verdict_line(judge->verdict, "%s", *function ? function : "(no stack)");
	if (!place->line)
		return gmt_verdict_line(judge->verdict, "%s%s%s", file, *function ? " in " : "", function);
	return gmt_verdict_line(judge->verdict, "%s:%" PRIu32 "%s%s", file, place->line,
		*function ? " in " : "", function);
}

/* Returns whether a suppression of `kinds` matches the line, and counts its use. */
static bool suppresses(const struct judge *judge, unsigned kinds, uint32_t number, uint64_t bytes)
{
	const struct gmt_job_place *place = gmt_job_place_of(judge->store, number);
	struct gmt_suppression *row = gmt_suppressions_find_line(judge->gate->suppressions, kinds,
		gmt_job_text_of(judge->store, place->function), gmt_job_text_of(judge->store, place->file));

	if (!row)
		return false;
	row->used++;
	row->bytes += bytes;
	return true;
}

/* Adds a finding about a line. Returns NULL when out of memory. */
static struct gmt_finding *find(const struct judge *judge, uint32_t check, uint32_t number,
	enum gmt_suppression_kind kind)
{
	const struct gmt_job_place *place = gmt_job_place_of(judge->store, number);
	struct gmt_finding *finding = gmt_verdict_add_finding(judge->verdict, check);
	struct gmt_verdict_frame *frame = finding ? gmt_vec_push(&finding->frames) : NULL;

	judge->verdict->out_of_memory |= !frame;
	if (!frame)
		return NULL;
	*frame = (struct gmt_verdict_frame){
		.function = text_of(judge, place->function),
		.file = text_of(judge, place->file),
		.module = "",
		.name = line_text(judge, number),
		.line = place->line,
		/* The line of a native function is not in the summary. */
		.is_python = place->line,
	};
	frame->shown = frame->file;
	finding->key = gmt_verdict_line(judge->verdict, "%s:%s", frame->file, frame->function);
	finding->kind = gmt_suppression_kind_name(kind);
	return finding;
}

/* Returns the definition of a finding. GMT_LEAK_DEFINITIONS: this version does not know it. */
static enum gmt_leak_definition definition_of(const struct judge *judge,
	const struct gmt_summarized_finding *row)
{
	const char *name = gmt_job_text_of(judge->store, row->definition);
	unsigned definition = 0;

	while (definition < GMT_LEAK_DEFINITIONS &&
		strcmp(gmt_leak_definition_name((enum gmt_leak_definition)definition), name) != 0)
		definition++;
	return (enum gmt_leak_definition)definition;
}

/* Returns whether the finding is of the account, by the steps or not, and is not suppressed. */
static bool counts(const struct judge *judge, const struct gmt_summarized_account *account,
	const struct gmt_summarized_finding *row, bool by_steps)
{
	enum gmt_leak_definition definition = definition_of(judge, row);

	if (row->layer != account->layer || row->device != account->device ||
		definition == GMT_LEAK_DEFINITIONS || !!(1u << definition & GMT_LEAK_BY_STEPS) != by_steps)
		return false;
	if (!suppresses(judge, gmt_judge_suppression_kinds(definition), row->place, row->bytes))
		return true;
	judge->verdict->suppressed_findings++;
	judge->verdict->suppressed_bytes += row->bytes;
	return false;
}

static void report(const struct judge *judge, uint32_t check,
	const struct gmt_summarized_finding *row)
{
	enum gmt_leak_definition definition = definition_of(judge, row);
	bool is_growth = 1u << definition & GMT_LEAK_BY_STEPS;
	const char *hint = gmt_job_text_of(judge->store, row->hint);
	struct gmt_finding *finding =
		find(judge, check, row->place, is_growth ? GMT_SUPPRESSION_GROWTH : GMT_SUPPRESSION_LEAK);

	if (!finding)
		return;
	finding->bytes = row->bytes;
	finding->blocks = row->blocks;
	finding->definition = gmt_leak_definition_name(definition);
	finding->hint = *hint ? text_of(judge, row->hint) : NULL;
	finding->confidence = row->confidence_ppm ? row->confidence_ppm / 1e6 : -1;
	finding->bytes_per_step = row->has_rate ? (double)row->step_bytes : -1;
	finding->title = gmt_verdict_line(judge->verdict, "%s%s%s%s in %s block%s",
		is_growth ? "grows by " : "", is_growth ? gmt_text_size(row->step_bytes).text : "",
		is_growth ? " a step, to " : "", gmt_text_size(row->bytes).text,
		gmt_text_count(row->blocks).text, row->blocks == 1 ? "" : "s");
	if (is_growth && row->confidence_ppm)
		gmt_verdict_add_evidence(judge->verdict, finding,
			gmt_verdict_line(judge->verdict, "over %s steps; confidence %.0f %%",
				gmt_text_count(row->steps).text, row->confidence_ppm / 1e4));
}

/* Returns the option that changes what a leak is. The findings were made without it. */
static const char *option_for_events(const struct judge *judge)
{
	const bool *is_set = judge->gate->limits->is_set;

	return is_set[GMT_LIMIT_WARMUP]    ? "a summary has no events for --warmup"
		: is_set[GMT_LIMIT_DEFINITION] ? "a summary has no events for --definition"
		: is_set[GMT_LIMIT_MAX_AGE]    ? "a summary has no events for --max-age"
									   : NULL;
}

static void judge_leaks(const struct judge *judge, const struct gmt_summarized_account *account)
{
	const struct gmt_process_summary *summary = judge->summary;
	uint64_t limit = judge->gate->limits->max_leaked_bytes, sum = 0;
	struct gmt_verdict_check check = check_of(judge, GMT_RULE_LEAK, account);
	const struct gmt_summarized_finding *found[GMT_SUMMARY_FINDINGS];
	uint32_t count = 0;

	if (option_for_events(judge)) {
		skip_wanted(judge, GMT_RULE_LEAK, account, option_for_events(judge));
		return;
	}
	for (uint32_t i = 0; i < summary->findings_kept && count < GMT_SUMMARY_FINDINGS; i++)
		if (counts(judge, account, &summary->findings[i], false)) {
			found[count++] = &summary->findings[i];
			sum += summary->findings[i].bytes;
		}
	if (sum <= limit && summary->finding_count > summary->findings_kept) {
		skip(judge, GMT_RULE_LEAK, account,
			gmt_verdict_line(judge->verdict, "a summary has no findings after the first %d",
				GMT_SUMMARY_FINDINGS));
		return;
	}
	check.state = sum > limit ? GMT_CHECK_FAILED : GMT_CHECK_PASSED;
	check.measured = (double)sum;
	check.limit = (double)limit;
	check.unit = "bytes";
	check.text = gmt_verdict_line(judge->verdict, "%s leaked, %s allowed", gmt_text_size(sum).text,
		gmt_text_size(limit).text);

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	for (uint32_t i = 0; check.state == GMT_CHECK_FAILED && i < count; i++)
		report(judge, number, found[i]);
}

/* Returns why growth was not judged. NULL: it was judged. */
static const char *why_growth_is_unknown(const struct judge *judge)
{
	const char *why = gmt_job_text_of(judge->store, judge->summary->why_not_judged);

	return *why ? why : judge->summary->steps ? NULL : "no steps were found";
}

static void judge_growth(const struct judge *judge, const struct gmt_summarized_account *account)
{
	const struct gmt_process_summary *summary = judge->summary;
	const struct gmt_limits *limits = judge->gate->limits;
	const char *why = why_growth_is_unknown(judge);
	struct gmt_verdict_check check = check_of(judge, GMT_RULE_GROWTH, account);
	const struct gmt_summarized_finding *found[GMT_SUMMARY_FINDINGS], *warned = NULL;
	uint64_t sum = 0;
	uint32_t count = 0;

	if (option_for_events(judge)) {
		skip_wanted(judge, GMT_RULE_GROWTH, account, option_for_events(judge));
		return;
	}
	if (why) {
		skip(judge, GMT_RULE_GROWTH, account, why);
		return;
	}
	for (uint32_t i = 0; i < summary->findings_kept && count < GMT_SUMMARY_FINDINGS; i++) {
		const struct gmt_summarized_finding *row = &summary->findings[i];

		if (!counts(judge, account, row, true))
			continue;
		if (row->confidence_ppm / 1e6 < limits->min_confidence) {
			warned = warned ? warned : row;
			continue;
		}
		found[count++] = row;
		sum += row->step_bytes;
	}
	check.state = (double)sum > limits->max_growth_bytes ? GMT_CHECK_FAILED : GMT_CHECK_PASSED;
	check.measured = (double)sum;
	check.limit = limits->max_growth_bytes;
	check.unit = "bytes/step";
	if (warned && !sum) {
		check.state = GMT_CHECK_WARNED;
		check.text = gmt_verdict_line(judge->verdict,
			"grows by %s a step, but with less confidence than min-confidence (%.0f %%): %s",
			gmt_text_size(warned->step_bytes).text, 100 * limits->min_confidence,
			line_text(judge, warned->place));
	} else {
		check.text = gmt_verdict_line(judge->verdict,
			sum ? "grows by %s a step, %s allowed" : "no lasting growth%.0s, %s a step allowed",
			gmt_text_size(sum).text, gmt_text_size((uint64_t)limits->max_growth_bytes).text);
	}

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	for (uint32_t i = 0; check.state == GMT_CHECK_FAILED && i < count; i++)
		report(judge, number, found[i]);
}

/* Adds the lines that held most at the peak to a finding. */
static void report_peak(const struct judge *judge, uint32_t check,
	const struct gmt_summarized_account *account, const char *title)
{
	const struct gmt_process_summary *summary = judge->summary;
	const struct gmt_summarized_place *shown[HOLDERS_SHOWN];
	struct gmt_finding *finding;
	uint32_t count = 0;

	for (uint32_t i = 0; i < summary->place_count; i++) {
		const struct gmt_summarized_place *place = &summary->places[i];
		uint32_t at = count;

		if (place->layer != account->layer || place->device != account->device ||
			!place->peak_bytes)
			continue;
		while (at && shown[at - 1]->peak_bytes < place->peak_bytes)
			at--;
		if (at == HOLDERS_SHOWN)
			continue;
		count += count < HOLDERS_SHOWN;
		memmove(&shown[at + 1], &shown[at], (count - at - 1) * sizeof(*shown));
		shown[at] = place;
	}
	finding = count ? find(judge, check, shown[0]->place, GMT_SUPPRESSION_PEAK) : NULL;
	if (!finding)
		return;
	finding->bytes = account->peak_bytes;
	finding->blocks = account->peak_blocks;
	finding->title = gmt_verdict_line(judge->verdict, "%s, at %s", title,
		gmt_text_duration(account->peak_time_ns).text);
	for (uint32_t i = 0; i < count; i++)
		gmt_verdict_add_evidence(judge->verdict, finding,
			gmt_verdict_line(judge->verdict, "%s (%.1f %%) held by %s",
				gmt_text_size(shown[i]->peak_bytes).text,
				100.0 * (double)shown[i]->peak_bytes / (double)account->peak_bytes,
				line_text(judge, shown[i]->place)));
}

static void judge_peak(const struct judge *judge, const struct gmt_summarized_account *account)
{
	const struct gmt_limit_peak *limit =
		gmt_judge_peak_limit(judge->gate->limits, account->layer, account->device);
	struct gmt_verdict_check check = check_of(judge, GMT_RULE_PEAK, account);
	uint64_t left_out = 0;

	if (!limit) {
		skip(judge, GMT_RULE_PEAK, account, "no --max-peak is given for it");
		return;
	}
	for (uint32_t i = 0; i < judge->summary->place_count; i++) {
		const struct gmt_summarized_place *place = &judge->summary->places[i];

		if (place->layer == account->layer && place->device == account->device &&
			place->peak_bytes &&
			suppresses(judge, 1u << GMT_SUPPRESSION_PEAK, place->place, place->peak_bytes))
			left_out += place->peak_bytes;
	}
	judge->verdict->suppressed_bytes += left_out;
	gmt_judge_compare_peak(judge->verdict, &check, limit, account->peak_bytes, left_out);

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	if (check.state == GMT_CHECK_FAILED)
		report_peak(judge, number, account, check.text);
}

static void judge_refusals(const struct judge *judge)
{
	const struct gmt_process_summary *summary = judge->summary;
	struct gmt_verdict_check check = check_of(judge, GMT_RULE_OOM, NULL);
	uint64_t limit = judge->gate->limits->max_ooms, refused = summary->failures;
	const struct gmt_summarized_refusal *found[SHOWN];
	uint32_t count = 0;

	for (uint32_t i = 0; i < summary->refusal_count; i++) {
		const struct gmt_summarized_refusal *row = &summary->refusals[i];

		if (row->is_recovered)
			continue;
		if (suppresses(judge, 1u << GMT_SUPPRESSION_OOM, row->place, row->requested_bytes)) {
			judge->verdict->suppressed_findings++;
			refused -= !!refused;
		} else if (count < SHOWN) {
			found[count++] = row;
		}
	}
	check.state = refused > limit ? GMT_CHECK_FAILED : GMT_CHECK_PASSED;
	check.measured = (double)refused;
	check.limit = (double)limit;
	check.unit = "count";
	check.text = gmt_verdict_line(judge->verdict, "%s request%s refused, %s allowed",
		gmt_text_count(refused).text, refused == 1 ? " was" : "s were", gmt_text_count(limit).text);

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	for (uint32_t i = 0; check.state == GMT_CHECK_FAILED && i < count; i++) {
		struct gmt_finding *finding = find(judge, number, found[i]->place, GMT_SUPPRESSION_OOM);

		if (!finding)
			return;
		finding->bytes = found[i]->requested_bytes;
		finding->blocks = 1;
		finding->title =
			gmt_verdict_line(judge->verdict, "%s could not be allocated (layer %s), at %s",
				gmt_text_size(found[i]->requested_bytes).text, gmt_layer_name(found[i]->layer),
				gmt_text_duration(found[i]->time_ns).text);
		if (found[i]->has_driver)
			gmt_verdict_add_evidence(judge->verdict, finding,
				gmt_verdict_line(judge->verdict, "the driver had %s of %s free",
					gmt_text_size(found[i]->free_bytes).text,
					gmt_text_size(found[i]->device_bytes).text));
	}
}

static void judge_incomplete(const struct judge *judge)
{
	struct gmt_verdict_check check = check_of(judge, GMT_RULE_INCOMPLETE, NULL);
	const char *damage = gmt_job_text_of(judge->store, judge->summary->damage);
	struct gmt_finding *finding;

	check.state = judge->summary->is_complete ? GMT_CHECK_PASSED : GMT_CHECK_WARNED;
	check.text =
		judge->summary->is_complete ? "the recording is complete" : "the recording is incomplete";

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	if (judge->summary->is_complete)
		return;
	judge->verdict->incomplete = true;
	finding = gmt_verdict_add_finding(judge->verdict, number);
	if (!finding)
		return;
	finding->title = check.text;
	if (*damage)
		gmt_verdict_add_evidence(judge->verdict, finding, text_of(judge, judge->summary->damage));
}

/* Fails if an option needs steps and there are none, else warns: a passed check would hide it. */
static void judge_steps(const struct judge *judge, bool has_memory)
{
	const char *why = option_for_events(judge) ? NULL : why_growth_is_unknown(judge);
	bool is_wanted = gmt_limits_ask_for_growth(judge->gate->limits);
	struct gmt_verdict_check check =
		check_of(judge, is_wanted ? GMT_RULE_GROWTH : GMT_RULE_NOT_JUDGED, NULL);

	if (!why || (!is_wanted && !has_memory))
		return;
	check.state = is_wanted ? GMT_CHECK_FAILED : GMT_CHECK_WARNED;
	check.needs_steps = true;
	check.text = gmt_verdict_line(judge->verdict,
		is_wanted ? "requested, but cannot be judged: %s" : "growth was not judged: %s", why);
	gmt_verdict_add_check(judge->verdict, check);
}

static bool add_subject(struct judge *judge)
{
	const struct gmt_process_summary *summary = judge->summary;
	struct gmt_verdict *verdict = judge->verdict;
	struct gmt_verdict_subject *subject = gmt_vec_push(&verdict->subjects);

	verdict->out_of_memory |= !subject;
	if (!subject)
		return false;
	judge->subject = (uint32_t)verdict->subjects.count - 1;
	*subject = (struct gmt_verdict_subject){
		.path = gmt_verdict_line(verdict, "%s", summary->path),
		.host = text_of(judge, summary->host),
		.directory = text_of(judge, summary->directory),
		.pid = summary->pid,
		.parent_pid = summary->parent_pid,
		.rank = summary->rank,
		.events = summary->events,
		.complete = summary->is_complete,
		.has_steps = summary->steps,
	};
	return true;
}

enum gmt_status gmt_gate_judge_summary(struct gmt_verdict *verdict, const struct gmt_gate *gate,
	const struct gmt_job_store *store, const struct gmt_process_summary *summary,
	struct gmt_error *error)
{
	struct judge judge = { verdict, gate, store, summary, 0 };
	bool has_memory = false, is_there = add_subject(&judge);

	for (uint32_t i = 0; is_there && i < summary->account_count; i++) {
		const struct gmt_summarized_account *account = &summary->accounts[i];

		if (!account->alloc_count || !gmt_layer_can_leak(account->layer))
			continue;
		has_memory = true;
		judge_leaks(&judge, account);
		judge_growth(&judge, account);
		judge_peak(&judge, account);
		if (gate->limits->max_fragmentation >= 0 && account->has_reserved)
			skip_wanted(&judge, GMT_RULE_FRAGMENTATION, account,
				"a summary has no reserved memory at the peak");
	}
	if (is_there) {
		judge_steps(&judge, has_memory);
		if (gate->baseline)
			skip_wanted(&judge, GMT_RULE_REGRESSION, NULL,
				"a summary has no stacks for --baseline");
		judge_refusals(&judge);
		skip(&judge, GMT_RULE_FREE, NULL, "a summary has no frees");
		judge_incomplete(&judge);
	}
	return verdict->out_of_memory ? gmt_error_set(error, GMT_NO_MEMORY, "out of memory") : GMT_OK;
}
