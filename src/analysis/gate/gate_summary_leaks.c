/* SPDX-License-Identifier: MIT */
/* Rules about a summary's findings: leaks by definition, and growth. */
#include <string.h>

#include "analysis/gate/gate_judge.h"
#include "analysis/gate/gate_summary_judge.h"
#include "base/text.h"

/* Returns the definition of a finding. GMT_LEAK_DEFINITIONS: this version does not know it. */
static enum gmt_leak_definition definition_of(const struct gmt_summary_judge *judge,
	const struct gmt_summarized_finding *row)
{
	const char *name = gmt_job_text_of(judge->store, row->definition);
	unsigned definition = 0;

	while (definition < GMT_LEAK_DEFINITIONS &&
		strcmp(gmt_leak_definition_name((enum gmt_leak_definition)definition), name) != 0)
		definition++;
	return (enum gmt_leak_definition)definition;
}

/*
 * Returns whether the finding counts for the account: it is in its layer and on its device, it is
 * not suppressed, and its definition judges steps if `by_steps`, else not. A suppressed finding is
 * added to the totals of suppressed findings.
 */
static bool is_counted(const struct gmt_summary_judge *judge,
	const struct gmt_summarized_account *account, const struct gmt_summarized_finding *row,
	bool by_steps)
{
	enum gmt_leak_definition definition = definition_of(judge, row);

	if (row->layer != account->layer || row->device != account->device ||
		definition == GMT_LEAK_DEFINITIONS || !!(1u << definition & GMT_LEAK_BY_STEPS) != by_steps)
		return false;
	if (!gmt_summary_judge_suppresses(judge, gmt_judge_suppression_kinds(definition), row->place,
			row->bytes))
		return true;
	judge->verdict->suppressed_findings++;
	judge->verdict->suppressed_bytes += row->bytes;
	return false;
}

static void report(const struct gmt_summary_judge *judge, uint32_t check,
	const struct gmt_summarized_finding *row)
{
	enum gmt_leak_definition definition = definition_of(judge, row);
	bool is_growth = 1u << definition & GMT_LEAK_BY_STEPS;
	const char *hint = gmt_job_text_of(judge->store, row->hint);
	struct gmt_finding *finding = gmt_summary_judge_add_finding(judge, check, row->place,
		is_growth ? GMT_SUPPRESSION_GROWTH : GMT_SUPPRESSION_LEAK);

	if (!finding)
		return;
	finding->bytes = row->bytes;
	finding->blocks = row->blocks;
	finding->definition = gmt_leak_definition_name(definition);
	finding->hint = *hint ? gmt_summary_judge_text(judge, row->hint) : NULL;
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

const char *gmt_summary_judge_option_for_events(const struct gmt_summary_judge *judge)
{
	const bool *is_set = judge->gate->limits->is_set;

	return is_set[GMT_LIMIT_WARMUP]    ? "a summary has no events for --warmup"
		: is_set[GMT_LIMIT_DEFINITION] ? "a summary has no events for --definition"
		: is_set[GMT_LIMIT_MAX_AGE]    ? "a summary has no events for --max-age"
									   : NULL;
}

void gmt_summary_judge_leaks(const struct gmt_summary_judge *judge,
	const struct gmt_summarized_account *account)
{
	const struct gmt_process_summary *summary = judge->summary;
	uint64_t limit = judge->gate->limits->max_leaked_bytes, sum = 0;
	struct gmt_verdict_check check = gmt_summary_judge_check(judge, GMT_RULE_LEAK, account);
	const struct gmt_summarized_finding *found[GMT_SUMMARY_FINDINGS];
	uint32_t count = 0;

	if (gmt_summary_judge_option_for_events(judge)) {
		gmt_summary_judge_skip_wanted(judge, GMT_RULE_LEAK, account,
			gmt_summary_judge_option_for_events(judge));
		return;
	}
	for (uint32_t i = 0; i < summary->findings_kept && count < GMT_SUMMARY_FINDINGS; i++)
		if (is_counted(judge, account, &summary->findings[i], false)) {
			found[count++] = &summary->findings[i];
			sum += summary->findings[i].bytes;
		}
	if (sum <= limit && summary->finding_count > summary->findings_kept) {
		gmt_summary_judge_skip(judge, GMT_RULE_LEAK, account,
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

const char *gmt_summary_judge_why_no_growth(const struct gmt_summary_judge *judge)
{
	const char *why = gmt_job_text_of(judge->store, judge->summary->why_not_judged);

	return *why ? why : judge->summary->steps ? NULL : "no steps were found";
}

void gmt_summary_judge_growth(const struct gmt_summary_judge *judge,
	const struct gmt_summarized_account *account)
{
	const struct gmt_process_summary *summary = judge->summary;
	const struct gmt_limits *limits = judge->gate->limits;
	const char *why = gmt_summary_judge_why_no_growth(judge);
	struct gmt_verdict_check check = gmt_summary_judge_check(judge, GMT_RULE_GROWTH, account);
	const struct gmt_summarized_finding *found[GMT_SUMMARY_FINDINGS], *warned = NULL;
	uint64_t sum = 0;
	uint32_t count = 0;

	if (gmt_summary_judge_option_for_events(judge)) {
		gmt_summary_judge_skip_wanted(judge, GMT_RULE_GROWTH, account,
			gmt_summary_judge_option_for_events(judge));
		return;
	}
	if (why) {
		gmt_summary_judge_skip(judge, GMT_RULE_GROWTH, account, why);
		return;
	}
	for (uint32_t i = 0; i < summary->findings_kept && count < GMT_SUMMARY_FINDINGS; i++) {
		const struct gmt_summarized_finding *row = &summary->findings[i];

		if (!is_counted(judge, account, row, true))
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
			gmt_summary_judge_line(judge, warned->place));
	} else {
		check.text = gmt_verdict_line(judge->verdict,
			sum ? "grows by %s a step, %s allowed" : "no lasting growth%.0s, %s a step allowed",
			gmt_text_size(sum).text, gmt_text_size((uint64_t)limits->max_growth_bytes).text);
	}

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	for (uint32_t i = 0; check.state == GMT_CHECK_FAILED && i < count; i++)
		report(judge, number, found[i]);
}
