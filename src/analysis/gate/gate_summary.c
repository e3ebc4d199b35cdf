/* SPDX-License-Identifier: MIT */
/*
 * Judges a summary. A summary has accounts, lines, findings and refused requests, but no events
 * and no stacks. So a suppression is compared with the line of a finding, and some rules are not
 * judged.
 */
#include <string.h>

#include "analysis/gate/gate_judge.h"
#include "analysis/gate/gate_summary_judge.h"
#include "base/text.h"

enum { FINDINGS_SHOWN = 10, HOLDERS_SHOWN = 5 };

/* Adds a finding about the peak, with the lines that held most at it. */
static void report_peak(const struct gmt_summary_judge *judge, uint32_t check,
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
	finding = count
		? gmt_summary_judge_add_finding(judge, check, shown[0]->place, GMT_SUPPRESSION_PEAK)
		: NULL;
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
				gmt_summary_judge_line(judge, shown[i]->place)));
}

static void judge_peak(const struct gmt_summary_judge *judge,
	const struct gmt_summarized_account *account)
{
	const struct gmt_limit_peak *limit =
		gmt_judge_peak_limit(judge->gate->limits, account->layer, account->device);
	struct gmt_verdict_check check = gmt_summary_judge_check(judge, GMT_RULE_PEAK, account);
	uint64_t suppressed_bytes = 0;

	if (!limit) {
		gmt_summary_judge_skip(judge, GMT_RULE_PEAK, account, "no --max-peak is given for it");
		return;
	}
	for (uint32_t i = 0; i < judge->summary->place_count; i++) {
		const struct gmt_summarized_place *place = &judge->summary->places[i];

		if (place->layer == account->layer && place->device == account->device &&
			place->peak_bytes &&
			gmt_summary_judge_suppresses(judge, 1u << GMT_SUPPRESSION_PEAK, place->place,
				place->peak_bytes))
			suppressed_bytes += place->peak_bytes;
	}
	judge->verdict->suppressed_bytes += suppressed_bytes;
	gmt_judge_compare_peak(judge->verdict, &check, limit, account->peak_bytes, suppressed_bytes);

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	if (check.state == GMT_CHECK_FAILED)
		report_peak(judge, number, account, check.text);
}

static void judge_refusals(const struct gmt_summary_judge *judge)
{
	const struct gmt_process_summary *summary = judge->summary;
	struct gmt_verdict_check check = gmt_summary_judge_check(judge, GMT_RULE_OOM, NULL);
	uint64_t limit = judge->gate->limits->max_ooms, refused = summary->failures;
	const struct gmt_summarized_refusal *found[FINDINGS_SHOWN];
	uint32_t count = 0;

	for (uint32_t i = 0; i < summary->refusal_count; i++) {
		const struct gmt_summarized_refusal *row = &summary->refusals[i];

		if (row->is_recovered)
			continue;
		if (gmt_summary_judge_suppresses(judge, 1u << GMT_SUPPRESSION_OOM, row->place,
				row->requested_bytes)) {
			judge->verdict->suppressed_findings++;
			refused -= !!refused;
		} else if (count < FINDINGS_SHOWN) {
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
		struct gmt_finding *finding =
			gmt_summary_judge_add_finding(judge, number, found[i]->place, GMT_SUPPRESSION_OOM);

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

static void judge_incomplete(const struct gmt_summary_judge *judge)
{
	struct gmt_verdict_check check = gmt_summary_judge_check(judge, GMT_RULE_INCOMPLETE, NULL);
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
		gmt_verdict_add_evidence(judge->verdict, finding,
			gmt_summary_judge_text(judge, judge->summary->damage));
}

/*
 * If growth could not be judged, fails if an option asks for growth, otherwise warns. Without this
 * check, the file would pass silently.
 */
static void judge_steps(const struct gmt_summary_judge *judge, bool has_memory)
{
	const char *why =
		gmt_summary_judge_option_for_events(judge) ? NULL : gmt_summary_judge_why_no_growth(judge);
	bool is_wanted = gmt_limits_ask_for_growth(judge->gate->limits);
	struct gmt_verdict_check check =
		gmt_summary_judge_check(judge, is_wanted ? GMT_RULE_GROWTH : GMT_RULE_NOT_JUDGED, NULL);

	if (!why || (!is_wanted && !has_memory))
		return;
	check.state = is_wanted ? GMT_CHECK_FAILED : GMT_CHECK_WARNED;
	check.needs_steps = true;
	check.text = gmt_verdict_line(judge->verdict,
		is_wanted ? "requested, but cannot be judged: %s" : "growth was not judged: %s", why);
	gmt_verdict_add_check(judge->verdict, check);
}

static bool add_subject(struct gmt_summary_judge *judge)
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
		.host = gmt_summary_judge_text(judge, summary->host),
		.directory = gmt_summary_judge_text(judge, summary->directory),
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
	struct gmt_summary_judge judge = { verdict, gate, store, summary, 0 };
	bool has_memory = false, has_subject = add_subject(&judge);

	for (uint32_t i = 0; has_subject && i < summary->account_count; i++) {
		const struct gmt_summarized_account *account = &summary->accounts[i];

		if (!account->alloc_count || !gmt_layer_can_leak(account->layer))
			continue;
		has_memory = true;
		gmt_summary_judge_leaks(&judge, account);
		gmt_summary_judge_growth(&judge, account);
		judge_peak(&judge, account);
		if (gate->limits->max_fragmentation >= 0 && account->has_reserved)
			gmt_summary_judge_skip_wanted(&judge, GMT_RULE_FRAGMENTATION, account,
				"a summary has no reserved memory at the peak");
	}
	if (has_subject) {
		judge_steps(&judge, has_memory);
		if (gate->baseline)
			gmt_summary_judge_skip_wanted(&judge, GMT_RULE_REGRESSION, NULL,
				"a summary has no stacks for --baseline");
		judge_refusals(&judge);
		gmt_summary_judge_skip(&judge, GMT_RULE_FREE, NULL, "a summary has no frees");
		judge_incomplete(&judge);
	}
	return verdict->out_of_memory ? gmt_error_set(error, GMT_NO_MEMORY, "out of memory") : GMT_OK;
}
