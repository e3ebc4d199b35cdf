/* SPDX-License-Identifier: MIT */
#include "analysis/gate/gate_judge.h"

#include "base/text.h"
#include "reader/load/clock.h"

/* Rules about the peak, and about the memory that PyTorch reserves at its peak. */

enum { HOLDERS_SHOWN = 5 };

const struct gmt_limit_peak *gmt_judge_peak_limit(const struct gmt_limits *limits, uint32_t layer,
	int32_t device)
{
	const struct gmt_limit_peak *found = NULL;

	for (size_t i = 0; i < limits->peaks.rows.count; i++) {
		const struct gmt_limit_peak *peak = &limits->peaks.rows.items[i];
		bool of_layer = !peak->layer || peak->layer == layer;
		bool of_device = peak->device == device ||
			(peak->device == GMT_LIMIT_EVERY_GPU && device != GMT_DEVICE_HOST);

		if (of_layer && of_device && (!found || peak->bytes < found->bytes))
			found = peak;
	}
	return found;
}

static uint64_t suppressed_at_peak(const struct gmt_judge *judge, const struct gmt_account *account)
{
	const unsigned kinds = 1u << GMT_SUPPRESSION_PEAK;
	uint64_t bytes = 0;
	size_t count;

	if (!gmt_suppressions_have(judge->gate->suppressions, kinds))
		return 0;

	const struct gmt_site *sites = gmt_sites_of_account(judge->input->sites, account->layer,
		account->device, GMT_SITES_BY_PEAK, &count);
	for (size_t i = 0; i < count && sites[i].peak_bytes; i++)
		if (gmt_judge_suppresses(judge, kinds, sites[i].stack, sites[i].peak_bytes))
			bytes += sites[i].peak_bytes;
	judge->verdict->suppressed_bytes += bytes;
	return bytes;
}

static void report_peak(const struct gmt_judge *judge, uint32_t check,
	const struct gmt_account *account, const char *text)
{
	struct gmt_verdict *verdict = judge->verdict;
	size_t count;
	const struct gmt_site *sites = gmt_sites_of_account(judge->input->sites, account->layer,
		account->device, GMT_SITES_BY_PEAK, &count);

	if (!count)
		return;

	struct gmt_finding *finding =
		gmt_judge_add_finding(judge, check, sites->stack, sites->own_line, GMT_SUPPRESSION_PEAK);
	if (!finding)
		return;
	finding->bytes = account->peak_bytes;
	finding->blocks = account->peak_blocks;
	finding->title = gmt_verdict_line(verdict, "%s, at %s", text,
		gmt_text_duration(gmt_clock_time_ns(judge->input->recording, account->peak_stamp)).text);
	for (size_t i = 0; i < count && i < HOLDERS_SHOWN && sites[i].peak_bytes; i++)
		gmt_verdict_add_evidence(verdict, finding,
			gmt_verdict_line(verdict, "%s (%.1f %%) held by %s",
				gmt_text_size(sites[i].peak_bytes).text,
				100.0 * (double)sites[i].peak_bytes / (double)account->peak_bytes,
				gmt_judge_frame_name(judge, sites[i].stack, sites[i].own_line)));
}

void gmt_judge_peak(const struct gmt_judge *judge, const struct gmt_account *account)
{
	const struct gmt_limit_peak *limit =
		gmt_judge_peak_limit(judge->gate->limits, account->layer, account->device);
	struct gmt_verdict_check check = gmt_judge_check(judge, GMT_RULE_PEAK, account);
	uint64_t suppressed_bytes;

	if (!limit) {
		check.state = GMT_CHECK_SKIPPED;
		check.measured = (double)account->peak_bytes;
		check.unit = "bytes";
		check.text = gmt_verdict_line(judge->verdict,
			"%s; not judged, because no --max-peak is given for it",
			gmt_text_size(account->peak_bytes).text);
		gmt_verdict_add_check(judge->verdict, check);
		return;
	}
	suppressed_bytes = suppressed_at_peak(judge, account);
	gmt_judge_compare_peak(judge->verdict, &check, limit, account->peak_bytes, suppressed_bytes);

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	if (check.state == GMT_CHECK_FAILED)
		report_peak(judge, number, account, check.text);
}

/* Finds the totals that PyTorch reported when its allocated bytes were largest. */
static bool find_totals(const struct gmt_recording *recording, const struct gmt_account *account,
	struct gmt_recording_totals *ret_totals)
{
	bool found = false;

	for (size_t i = 0; i < recording->events.count; i++) {
		struct gmt_recording_event event = gmt_recording_event(recording, i);
		struct gmt_recording_totals totals;

		if (event.layer != account->layer || event.device != account->device ||
			!gmt_recording_totals(&event, &totals))
			continue;
		if (found && totals.allocated_bytes <= ret_totals->allocated_bytes)
			continue;
		*ret_totals = totals;
		found = true;
	}
	return found && ret_totals->allocated_bytes;
}

void gmt_judge_fragmentation(const struct gmt_judge *judge, const struct gmt_account *account)
{
	double limit = judge->gate->limits->max_fragmentation;
	struct gmt_verdict_check check = gmt_judge_check(judge, GMT_RULE_FRAGMENTATION, account);
	struct gmt_recording_totals totals = { 0 };

	if (!account->has_totals)
		return;
	check.unit = "ratio";
	if (limit < 0 || !find_totals(judge->input->recording, account, &totals)) {
		check.state = GMT_CHECK_SKIPPED;
		check.text = limit < 0 ? "not judged: no --max-fragmentation is given"
							   : "not judged: PyTorch allocated no memory";
		gmt_verdict_add_check(judge->verdict, check);
		return;
	}
	check.measured = (double)totals.reserved_bytes / (double)totals.allocated_bytes;
	check.limit = limit;
	check.state = check.measured > limit ? GMT_CHECK_FAILED : GMT_CHECK_PASSED;
	check.text = gmt_verdict_line(judge->verdict,
		"PyTorch reserved %s for %s allocated: ratio %.3g, %.3g allowed",
		gmt_text_size(totals.reserved_bytes).text, gmt_text_size(totals.allocated_bytes).text,
		check.measured, limit);

	uint32_t number = gmt_verdict_add_check(judge->verdict, check);
	struct gmt_finding *finding =
		check.state == GMT_CHECK_FAILED ? gmt_verdict_add_finding(judge->verdict, number) : NULL;
	if (finding) {
		finding->title = check.text;
		finding->bytes = totals.reserved_bytes - totals.allocated_bytes;
	}
}
