/* SPDX-License-Identifier: MIT */
#include "analysis/gate/gate_summary_judge.h"

#include <inttypes.h>

const char *gmt_summary_judge_text(const struct gmt_summary_judge *judge, uint32_t text)
{
	return gmt_verdict_line(judge->verdict, "%s", gmt_job_text_of(judge->store, text));
}

struct gmt_verdict_check gmt_summary_judge_check(const struct gmt_summary_judge *judge,
	enum gmt_rule rule, const struct gmt_summarized_account *account)
{
	struct gmt_verdict_check check = gmt_verdict_empty_check(rule, judge->subject);

	if (account) {
		check.layer = account->layer;
		check.device = account->device;
	}
	return check;
}

void gmt_summary_judge_skip(const struct gmt_summary_judge *judge, enum gmt_rule rule,
	const struct gmt_summarized_account *account, const char *why)
{
	struct gmt_verdict_check check = gmt_summary_judge_check(judge, rule, account);

	check.state = GMT_CHECK_SKIPPED;
	check.text = gmt_verdict_line(judge->verdict, "not judged: %s", why);
	gmt_verdict_add_check(judge->verdict, check);
}

void gmt_summary_judge_skip_wanted(const struct gmt_summary_judge *judge, enum gmt_rule rule,
	const struct gmt_summarized_account *account, const char *why)
{
	judge->verdict->not_in_summaries = true;
	gmt_summary_judge_skip(judge, rule, account, why);
}

const char *gmt_summary_judge_line(const struct gmt_summary_judge *judge, uint32_t place_id)
{
	const struct gmt_job_place *place = gmt_job_place_of(judge->store, place_id);
	const char *file = gmt_job_text_of(judge->store, place->file);
	const char *function = gmt_job_text_of(judge->store, place->function);

	if (!*file)
		return gmt_verdict_line(judge->verdict, "%s", *function ? function : "(no stack)");
	if (!place->line)
		return gmt_verdict_line(judge->verdict, "%s%s%s", file, *function ? " in " : "", function);
	return gmt_verdict_line(judge->verdict, "%s:%" PRIu32 "%s%s", file, place->line,
		*function ? " in " : "", function);
}

bool gmt_summary_judge_suppresses(const struct gmt_summary_judge *judge, unsigned kinds,
	uint32_t place_id, uint64_t bytes)
{
	const struct gmt_job_place *place = gmt_job_place_of(judge->store, place_id);
	struct gmt_suppression *row = gmt_suppressions_find_line(judge->gate->suppressions, kinds,
		gmt_job_text_of(judge->store, place->function), gmt_job_text_of(judge->store, place->file));

	if (!row)
		return false;
	row->used++;
	row->bytes += bytes;
	return true;
}

struct gmt_finding *gmt_summary_judge_add_finding(const struct gmt_summary_judge *judge,
	uint32_t check, uint32_t place_id, enum gmt_suppression_kind kind)
{
	const struct gmt_job_place *place = gmt_job_place_of(judge->store, place_id);
	struct gmt_finding *finding = gmt_verdict_add_finding(judge->verdict, check);
	struct gmt_verdict_frame *frame = finding ? gmt_vec_push(&finding->frames) : NULL;

	judge->verdict->out_of_memory |= !frame;
	if (!frame)
		return NULL;
	*frame = (struct gmt_verdict_frame){
		.function = gmt_summary_judge_text(judge, place->function),
		.file = gmt_summary_judge_text(judge, place->file),
		.module = "",
		.name = gmt_summary_judge_line(judge, place_id),
		.line = place->line,
		/* The line of a native function is not in the summary. */
		.is_python = place->line,
	};
	frame->shown = frame->file;
	finding->key = gmt_verdict_line(judge->verdict, "%s:%s", frame->file, frame->function);
	finding->kind = gmt_suppression_kind_name(kind);
	return finding;
}
