/* SPDX-License-Identifier: MIT */
#include "analysis/gate/gate.h"

#include "analysis/gate/gate_judge.h"
#include "base/text.h"

struct gmt_verdict_check gmt_judge_check(const struct gmt_judge *judge, enum gmt_rule rule,
	const struct gmt_account *account)
{
	struct gmt_verdict_check check = gmt_verdict_empty_check(rule, judge->subject);

	if (account) {
		check.layer = account->layer;
		check.device = account->device;
	}
	return check;
}

bool gmt_judge_suppresses(const struct gmt_judge *judge, unsigned kinds, uint32_t stack,
	uint64_t bytes)
{
	struct gmt_suppression *row =
		gmt_suppressions_find(judge->gate->suppressions, kinds, judge->input->traces, stack);

	if (!row)
		return false;
	row->used++;
	row->bytes += bytes;
	return true;
}

struct gmt_finding *gmt_judge_add_finding(const struct gmt_judge *judge, uint32_t check,
	uint32_t stack, uint32_t own_line, enum gmt_suppression_kind kind)
{
	const struct gmt_gate_input *input = judge->input;
	struct gmt_finding *finding = gmt_verdict_add_finding(judge->verdict, check);

	if (!finding)
		return NULL;
	gmt_verdict_set_stack(judge->verdict, finding, input->recording, input->traces, input->keys,
		stack, own_line);
	finding->kind = gmt_suppression_kind_name(kind);
	return finding;
}

const char *gmt_judge_frame_name(const struct gmt_judge *judge, uint32_t stack, uint32_t own_line)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(judge->input->traces, stack, &count);

	return own_line < count ? gmt_verdict_frame_name(judge->verdict, judge->input->recording,
								  judge->input->traces, places[own_line])
							: "(no stack)";
}

void gmt_judge_compare_peak(struct gmt_verdict *verdict, struct gmt_verdict_check *check,
	const struct gmt_limit_peak *limit, uint64_t peak_bytes, uint64_t suppressed_bytes)
{
	uint64_t bytes = suppressed_bytes < peak_bytes ? peak_bytes - suppressed_bytes : 0;

	check->state = bytes > limit->bytes ? GMT_CHECK_FAILED : GMT_CHECK_PASSED;
	check->measured = (double)bytes;
	check->limit = (double)limit->bytes;
	check->unit = "bytes";
	check->text = gmt_verdict_line(verdict, "peak %s%s%s, %s allowed", gmt_text_size(bytes).text,
		suppressed_bytes ? " without suppressed " : "",
		suppressed_bytes ? gmt_text_size(suppressed_bytes).text : "",
		gmt_text_size(limit->bytes).text);
}
