/* SPDX-License-Identifier: MIT */
#include "analysis/gate/gate_judge.h"

#include "base/text.h"
#include "reader/load/clock.h"

/* Rules about single events, and about incomplete recordings. */

enum { FINDINGS_SHOWN = 10 };

/* Indices of sites in the compacted prefix. It has the layout of a GMT_VEC. */
struct compacted {
	size_t *items;
	size_t count, capacity;
};

static void report_oom(const struct gmt_judge *judge, uint32_t check, const struct gmt_oom_row *row)
{
	struct gmt_verdict *verdict = judge->verdict;
	const struct gmt_traces *traces = judge->input->traces;
	struct gmt_finding *finding = gmt_judge_add_finding(judge, check, row->stack,
		gmt_traces_own_line(traces, row->stack), GMT_SUPPRESSION_OOM);

	if (!finding)
		return;
	finding->bytes = row->requested_bytes;
	finding->blocks = 1;
	finding->title = gmt_verdict_line(verdict, "%s could not be allocated (layer %s), at %s",
		gmt_text_size(row->requested_bytes).text, gmt_layer_name(row->layer),
		gmt_text_duration(row->time_ns).text);
	if (row->has_driver)
		gmt_verdict_add_evidence(verdict, finding,
			gmt_verdict_line(verdict, "the driver had %s of %s free",
				gmt_text_size(row->free_bytes).text, gmt_text_size(row->total_bytes).text));
	if (row->has_cache)
		gmt_verdict_add_evidence(verdict, finding,
			gmt_verdict_line(verdict, "PyTorch had %s reserved, %s of it unused",
				gmt_text_size(row->reserved_bytes).text, gmt_text_size(row->cached_bytes).text));
	for (uint32_t i = 0; i < row->holder_count && i < 3; i++) {
		uint32_t stack = judge->input->replay->site_stacks.items[row->holders[i].site];

		gmt_verdict_add_evidence(verdict, finding,
			gmt_verdict_line(verdict, "%s held by %s", gmt_text_size(row->holders[i].bytes).text,
				gmt_judge_frame_name(judge, stack, gmt_traces_own_line(traces, stack))));
	}
}

/* Reports the refused requests of a site in the compacted prefix. Only their number is known. */
static void report_compacted(const struct gmt_judge *judge, uint32_t check, uint32_t stack,
	const struct gmt_past_site *site)
{
	struct gmt_finding *finding = gmt_judge_add_finding(judge, check, stack,
		gmt_traces_own_line(judge->input->traces, stack), GMT_SUPPRESSION_OOM);

	if (!finding)
		return;
	finding->blocks = site->oom_count;
	finding->title = gmt_verdict_line(judge->verdict,
		"%s request%s refused in the compacted part of the recording (layer %s)",
		gmt_text_count(site->oom_count).text, site->oom_count == 1 ? " was" : "s were",
		gmt_layer_name(site->layer) ? gmt_layer_name(site->layer) : "unknown");
}

/*
 * Adds sites with refused requests in the compacted prefix to `found`, as indices of past sites.
 * Subtracts the requests of suppressed sites from *count.
 */
static void find_compacted(const struct gmt_judge *judge, struct compacted *found, uint64_t *count)
{
	const struct gmt_recording *recording = judge->input->recording;

	for (size_t i = 0;
		judge->input->ooms->compacted_failures && i < recording->compacted.sites.count; i++) {
		const struct gmt_past_site *site = &recording->compacted.sites.items[i];
		uint32_t stack = judge->input->traces->stack_of_trace[recording->compacted_traces.items[i]];
		size_t *slot;

		if (!site->oom_count)
			continue;
		if (gmt_judge_suppresses(judge, 1u << GMT_SUPPRESSION_OOM, stack, 0)) {
			judge->verdict->suppressed_findings++;
			*count -= site->oom_count < *count ? site->oom_count : *count;
			continue;
		}
		slot = gmt_vec_push(found);
		judge->verdict->out_of_memory |= !slot;
		if (slot)
			*slot = i;
	}
}

void gmt_judge_ooms(const struct gmt_judge *judge)
{
	const struct gmt_ooms *ooms = judge->input->ooms;
	struct gmt_verdict_check check = gmt_judge_check(judge, GMT_RULE_OOM, NULL);
	uint64_t limit = judge->gate->limits->max_ooms, count = ooms->failures;
	GMT_VEC(const struct gmt_oom_row *) found = { 0 };
	struct compacted compacted = { 0 };

	for (size_t i = 0; i < ooms->rows.count; i++) {
		const struct gmt_oom_row *row = &ooms->rows.items[i];

		if (row->recovered)
			continue;
		if (gmt_judge_suppresses(judge, 1u << GMT_SUPPRESSION_OOM, row->stack,
				row->requested_bytes)) {
			judge->verdict->suppressed_findings++;
			count -= !!count;
			continue;
		}
		const struct gmt_oom_row **slot = gmt_vec_push(&found);
		judge->verdict->out_of_memory |= !slot;
		if (slot)
			*slot = row;
	}
	find_compacted(judge, &compacted, &count);
	check.state = count > limit ? GMT_CHECK_FAILED : GMT_CHECK_PASSED;
	check.measured = (double)count;
	check.limit = (double)limit;
	check.unit = "count";
	check.text = gmt_verdict_line(judge->verdict, "%s request%s refused, %s allowed%s%s%s",
		gmt_text_count(count).text, count == 1 ? " was" : "s were", gmt_text_count(limit).text,
		ooms->retries ? "; PyTorch recovered from " : "",
		ooms->retries ? gmt_text_count(ooms->retries).text : "",
		ooms->retries ? " more by emptying its cache" : "");

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	for (size_t i = 0; check.state == GMT_CHECK_FAILED && i < found.count && i < FINDINGS_SHOWN;
		i++)
		report_oom(judge, number, found.items[i]);
	for (size_t i = 0; check.state == GMT_CHECK_FAILED && i < compacted.count && i < FINDINGS_SHOWN;
		i++) {
		uint32_t trace = judge->input->recording->compacted_traces.items[compacted.items[i]];

		report_compacted(judge, number, judge->input->traces->stack_of_trace[trace],
			&judge->input->recording->compacted.sites.items[compacted.items[i]]);
	}
	gmt_vec_fini(&found);
	gmt_vec_fini(&compacted);
}

/*
 * cudaErrorInvalidValue and CUDA_ERROR_INVALID_VALUE are 1, cudaErrorInvalidDevicePointer is 17.
 * Other errors mean that the runtime is shutting down, or repeat the error of an earlier kernel.
 */
static bool is_invalid_free(const struct gmt_recording_event *event)
{
	return event->kind == GMT_KIND_FREE_FAILED && (event->result == 1 || event->result == 17);
}

/*
 * Finds the last event before event `index` that freed or allocated a block at the same address.
 * False: there is no such event.
 */
static bool find_before(const struct gmt_recording *recording, size_t index,
	struct gmt_recording_event *ret_before)
{
	struct gmt_recording_event event = gmt_recording_event(recording, index);

	while (index-- > 0) {
		*ret_before = gmt_recording_event(recording, index);
		if (ret_before->address == event.address && ret_before->layer == event.layer &&
			(ret_before->kind == GMT_KIND_FREE || ret_before->kind == GMT_KIND_ALLOC))
			return true;
	}
	return false;
}

static void report_free(const struct gmt_judge *judge, uint32_t check, size_t index)
{
	const struct gmt_recording *recording = judge->input->recording;
	const struct gmt_traces *traces = judge->input->traces;
	struct gmt_recording_event event = gmt_recording_event(recording, index), before;
	bool has_before = find_before(recording, index, &before);
	struct gmt_verdict *verdict = judge->verdict;
	uint32_t stack = traces->stack_of_trace[event.trace];
	struct gmt_finding *finding = gmt_judge_add_finding(judge, check, stack,
		gmt_traces_own_line(traces, stack), GMT_SUPPRESSION_FREE);

	if (!finding)
		return;
	finding->title = gmt_verdict_line(verdict, "%s, at %s (error %u)",
		!has_before                        ? "free of an address that was never allocated"
			: before.kind == GMT_KIND_FREE ? "second free of the same block"
										   : "free of a block with a function that cannot free it",
		gmt_text_duration(gmt_clock_time_ns(recording, event.stamp)).text, event.result);
	finding->blocks = 1;
	if (!has_before)
		return;
	uint32_t first = traces->stack_of_trace[before.trace];
	uint32_t count;
	gmt_traces_stack(traces, first, &count);
	gmt_verdict_add_evidence(verdict, finding,
		gmt_verdict_line(verdict, "%s at %s%s%s",
			before.kind == GMT_KIND_FREE ? "first freed" : "allocated",
			gmt_text_duration(gmt_clock_time_ns(recording, before.stamp)).text, count ? " by " : "",
			count ? gmt_judge_frame_name(judge, first, gmt_traces_own_line(traces, first)) : ""));
}

void gmt_judge_frees(const struct gmt_judge *judge)
{
	const struct gmt_recording *recording = judge->input->recording;
	struct gmt_verdict_check check = gmt_judge_check(judge, GMT_RULE_FREE, NULL);
	uint64_t count = 0;
	size_t found[FINDINGS_SHOWN]; /* indices of events */

	for (size_t i = 0; i < recording->events.count; i++) {
		struct gmt_recording_event event = gmt_recording_event(recording, i);

		if (!is_invalid_free(&event))
			continue;
		if (gmt_judge_suppresses(judge, 1u << GMT_SUPPRESSION_FREE,
				judge->input->traces->stack_of_trace[event.trace], 0)) {
			judge->verdict->suppressed_findings++;
			continue;
		}
		if (count < FINDINGS_SHOWN)
			found[count] = i;
		count++;
	}
	check.state = count ? GMT_CHECK_FAILED : GMT_CHECK_PASSED;
	check.measured = (double)count;
	check.limit = 0;
	check.unit = "count";
	check.text = gmt_verdict_line(judge->verdict, "%s invalid free%s", gmt_text_count(count).text,
		count == 1 ? "" : "s");

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	for (size_t i = 0; i < count && i < FINDINGS_SHOWN; i++)
		report_free(judge, number, found[i]);
}

static void add_not_judged(const struct gmt_judge *judge, struct gmt_finding *finding,
	const char *what, const char *why)
{
	if (judge->input->leaks->is_compacted_away && why)
		gmt_verdict_add_evidence(judge->verdict, finding,
			gmt_verdict_line(judge->verdict, "not judged: %s: %s", what, why));
}

void gmt_judge_incomplete(const struct gmt_judge *judge)
{
	const struct gmt_warnings *warnings = judge->input->warnings;
	struct gmt_verdict *verdict = judge->verdict;
	struct gmt_verdict_check check = gmt_judge_check(judge, GMT_RULE_INCOMPLETE, NULL);
	bool is_incomplete = !gmt_recording_complete(judge->input->recording);
	bool is_compacted_away = judge->input->leaks->is_compacted_away;

	for (size_t i = 0; i < warnings->rows.count; i++)
		is_incomplete |= warnings->rows.items[i].kind == GMT_WARNING_INCOMPLETE;
	check.state = is_incomplete || is_compacted_away ? GMT_CHECK_WARNED : GMT_CHECK_PASSED;
	check.text = is_incomplete ? "the recording is incomplete"
		: is_compacted_away    ? "the compacted part of the recording cannot be judged completely"
							   : "the recording is complete";

	uint32_t number = gmt_verdict_add_check(verdict, check);
	if (!is_incomplete && !is_compacted_away)
		return;
	verdict->incomplete = true;
	if (is_incomplete && judge->subject < verdict->subjects.count)
		verdict->subjects.items[judge->subject].complete = false;

	struct gmt_finding *finding = gmt_verdict_add_finding(verdict, number);
	if (!finding)
		return;
	finding->title = check.text;
	for (size_t i = 0; i < warnings->rows.count; i++)
		if (warnings->rows.items[i].kind == GMT_WARNING_INCOMPLETE)
			gmt_verdict_add_evidence(verdict, finding,
				gmt_verdict_line(verdict, "%s", warnings->rows.items[i].text));
	add_not_judged(judge, finding, "growth", judge->input->leaks->why_growth_not_judged);
	add_not_judged(judge, finding, "leaks from phases", judge->input->leaks->why_phases_not_judged);
	add_not_judged(judge, finding, "age and exit", judge->input->leaks->why_end_not_judged);
}
