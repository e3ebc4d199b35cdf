/* SPDX-License-Identifier: MIT */
#include "format/format.h"
#include "render/job_diff.h"

enum { BASE = GMT_JOB_DIFF_BASE, NEW = GMT_JOB_DIFF_NEW };

static const char *const keys[] = { "base", "new" };

static void render_side(const struct gmt_job_diff_view *view, unsigned side, struct gmt_json *json)
{
	const struct gmt_job *job = view->diff->jobs[side];
	const char *layer = gmt_layer_name(job->layer);

	gmt_json_key_object(json, keys[side]);
	gmt_json_key_text(json, "path", view->paths[side]);
	gmt_json_key_text(json, "job", gmt_job_text_of(job->store, job->key));
	gmt_json_key_text(json, "layer", layer);
	gmt_json_key_u64(json, "ranks", job->ranks.count);
	gmt_json_key_u64(json, "incomplete_ranks", job->incomplete);
	gmt_json_key_u64(json, "steps", job->most_steps);
	gmt_json_key_known(json, "median_peak_bytes", job->peaks.count, job->peaks.median);
	gmt_json_key_u64(json, "sum_peak_bytes", job->sum_peak_bytes);
	gmt_json_key_array(json, "only_here");
	for (size_t i = 0; i < view->diff->only[side].count; i++)
		gmt_json_u64(json, view->diff->only[side].items[i]);
	gmt_json_end_array(json);
	gmt_json_key_texts(json, "remarks", job->remarks.items, job->remarks.count);
	gmt_json_end_object(json);
}

static void render_rank(const struct gmt_job_diff *diff, const struct gmt_job_diff_rank *row,
	struct gmt_json *json)
{
	const struct gmt_job_rank *ranks[GMT_JOB_DIFF_SIDES];

	for (unsigned side = 0; side < GMT_JOB_DIFF_SIDES; side++)
		ranks[side] = &diff->jobs[side]->ranks.items[row->index[side]];
	gmt_json_begin_object(json);
	gmt_json_key_known(json, "rank", ranks[NEW]->launch.rank >= 0,
		(uint64_t)ranks[NEW]->launch.rank);
	gmt_json_key_i64(json, "difference_bytes", row->bytes);
	for (unsigned side = 0; side < GMT_JOB_DIFF_SIDES; side++) {
		gmt_json_key_object(json, keys[side]);
		gmt_json_key_text(json, "file", ranks[side]->summary->path);
		gmt_json_key_u64(json, "peak_bytes", ranks[side]->peak_bytes);
		gmt_json_key_text(json, "end", gmt_process_end_name(ranks[side]->summary->end));
		gmt_json_key_bool(json, "grows", ranks[side]->growth != NULL);
		gmt_json_end_object(json);
	}
	gmt_json_key_array(json, "functions");
	for (uint32_t i = 0; i < row->line_count; i++) {
		const struct gmt_job_diff_line *line = &row->lines[i];

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "file", *line->file ? line->file : NULL);
		gmt_json_key_text(json, "function", *line->function ? line->function : NULL);
		gmt_json_key_u64(json, "base_bytes", line->bytes[BASE]);
		gmt_json_key_u64(json, "new_bytes", line->bytes[NEW]);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}

void gmt_job_diff_json(const struct gmt_job_diff_view *view, struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "schema", "gpumemtrace.diff-jobs/1");
	for (unsigned side = 0; side < GMT_JOB_DIFF_SIDES; side++)
		render_side(view, side, json);
	gmt_json_key_array(json, "ranks");
	for (size_t i = 0; i < view->diff->ranks.count; i++)
		render_rank(view->diff, &view->diff->ranks.items[i], json);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}
