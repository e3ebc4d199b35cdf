/* SPDX-License-Identifier: MIT */
#include "render/ranks.h"

struct writer {
	const struct gmt_ranks_view *view;
	const struct gmt_job *job;
	struct gmt_json *json;
};

static void key_text(const struct writer *writer, const char *key, uint32_t text)
{
	const char *value = gmt_job_text_of(writer->job->store, text);

	gmt_json_key_text(writer->json, key, *value ? value : NULL);
}

static void key_known(const struct writer *writer, const char *key, int64_t value)
{
	gmt_json_key_known(writer->json, key, value >= 0, (uint64_t)value);
}

static int64_t rank_number(const struct writer *writer, uint32_t index)
{
	return index == GMT_JOB_NONE ? -1 : writer->job->ranks.items[index].launch.rank;
}

static void key_place(const struct writer *writer, const char *key, uint32_t id)
{
	const struct gmt_job_place *place = gmt_job_place_of(writer->job->store, id);

	gmt_json_key_object(writer->json, key);
	key_text(writer, "file", place->file);
	gmt_json_key_known(writer->json, "line", place->line, place->line);
	key_text(writer, "function", place->function);
	gmt_json_end_object(writer->json);
}

static void key_robust(const struct writer *writer, const char *key,
	const struct gmt_spread *spread)
{
	struct gmt_json *json = writer->json;

	gmt_json_key(json, key);
	if (!spread->count) {
		gmt_json_null(json);
		return;
	}
	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "ranks", spread->count);
	gmt_json_key_u64(json, "min_bytes", spread->min);
	gmt_json_key_u64(json, "median_bytes", spread->median);
	gmt_json_key_u64(json, "max_bytes", spread->max);
	gmt_json_key_u64(json, "spread_bytes", spread->max - spread->min);
	gmt_json_key_u64(json, "mad_bytes", spread->mad);
	gmt_json_end_object(json);
}

static void render_growth(const struct writer *writer, const struct gmt_summarized_finding *growth)
{
	struct gmt_json *json = writer->json;

	gmt_json_key(json, "growth");
	if (!growth) {
		gmt_json_null(json);
		return;
	}
	gmt_json_begin_object(json);
	gmt_json_key_known(json, "step_bytes", growth->has_rate, growth->step_bytes);
	gmt_json_key_u64(json, "bytes", growth->bytes);
	gmt_json_key_u64(json, "first_step", growth->first_step);
	gmt_json_key_u64(json, "first_time_ns", growth->first_time_ns);
	key_place(writer, "place", growth->place);
	key_text(writer, "hint", growth->hint);
	gmt_json_end_object(json);
}

static void render_failure(const struct writer *writer,
	const struct gmt_summarized_refusal *failure)
{
	struct gmt_json *json = writer->json;

	gmt_json_key(json, "first_failure");
	if (!failure) {
		gmt_json_null(json);
		return;
	}
	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "time_ns", failure->time_ns);
	gmt_json_key_known(json, "step", failure->has_step, failure->step);
	gmt_json_key_u64(json, "requested_bytes", failure->requested_bytes);
	gmt_json_key_known(json, "free_bytes", failure->has_driver, failure->free_bytes);
	gmt_json_key_u64(json, "live_bytes", failure->live_bytes);
	key_place(writer, "place", failure->place);
	gmt_json_end_object(json);
}

static void render_account(const struct writer *writer, const struct gmt_job_rank *rank)
{
	const struct gmt_summarized_account *account = rank->account;
	struct gmt_json *json = writer->json;

	gmt_json_key_known(json, "device", account != NULL, account ? (uint64_t)account->device : 0);
	gmt_json_key_known(json, "peak_bytes", account != NULL, rank->peak_bytes);
	gmt_json_key_known(json, "total_bytes", rank->total_bytes, rank->total_bytes);
	gmt_json_key_known(json, "peak_time_ns", account != NULL, account ? account->peak_time_ns : 0);
	gmt_json_key_known(json, "peak_step", account && account->has_step,
		account ? account->peak_step : 0);
	gmt_json_key_known(json, "end_bytes", account != NULL, account ? account->end_bytes : 0);
	gmt_json_key_known(json, "reserved_peak_bytes", account && account->has_reserved,
		account ? account->reserved_peak_bytes : 0);
	gmt_json_key_known(json, "in_use_bytes", rank->use != NULL,
		rank->use ? rank->use->used_bytes : 0);
	gmt_json_key_known(json, "other_processes_bytes", rank->use && rank->use->has_others,
		rank->use ? rank->use->others_bytes : 0);
}

static void render_rank(const struct writer *writer, const struct gmt_job_rank *rank)
{
	const struct gmt_process_summary *summary = rank->summary;
	struct gmt_json *json = writer->json;

	gmt_json_begin_object(json);
	key_known(writer, "rank", rank->launch.rank);
	key_known(writer, "local_rank", rank->launch.local_rank);
	key_known(writer, "node", rank->launch.node);
	key_text(writer, "role", rank->launch.role);
	gmt_json_key_u64(json, "attempt", rank->launch.attempt);
	key_text(writer, "host", summary->host);
	gmt_json_key_u64(json, "pid", summary->pid);
	key_text(writer, "program", summary->program);
	gmt_json_key_text(json, "file", summary->path);
	gmt_json_key_u64(json, "start_time_ns", summary->start_time_ns);
	gmt_json_key_u64(json, "duration_ns", summary->duration_ns);
	gmt_json_key_u64(json, "steps", summary->steps);
	gmt_json_key_text(json, "end", gmt_process_end_name(summary->end));
	gmt_json_key_bool(json, "complete", summary->is_complete);
	render_account(writer, rank);
	gmt_json_key_known(json, "group", rank->group != GMT_JOB_NONE, rank->group);
	gmt_json_key_bool(json, "is_outlier", rank->is_outlier);
	gmt_json_key_u64(json, "failures", summary->failures);
	render_failure(writer, rank->failure);
	render_growth(writer, rank->growth);
	key_text(writer, "growth_not_judged", summary->why_not_judged);
	gmt_json_key_u64(json, "earlier_attempts", rank->restarts);
	gmt_json_end_object(json);
}

static void render_difference(const struct writer *writer,
	const struct gmt_job_difference *difference)
{
	struct gmt_json *json = writer->json;

	gmt_json_key_u64(json, "index", difference->rank);
	key_known(writer, "rank", rank_number(writer, difference->rank));
	key_known(writer, "compared_with_rank", rank_number(writer, difference->other));
	gmt_json_key_i64(json, "difference_bytes", difference->bytes);
	gmt_json_key_array(json, "lines");
	for (uint32_t i = 0; i < difference->line_count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_i64(json, "difference_bytes", difference->lines[i].bytes);
		gmt_json_key_u64(json, "bytes", difference->lines[i].held_bytes);
		key_place(writer, "place", difference->lines[i].place);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void render_outliers(const struct writer *writer)
{
	const struct gmt_job *job = writer->job;
	struct gmt_json *json = writer->json;

	gmt_json_key_text(json, "outliers_not_judged", job->why_no_outliers);
	gmt_json_key_array(json, "outliers");
	for (size_t i = 0; i < job->outliers.count; i++) {
		gmt_json_begin_object(json);
		render_difference(writer, &job->outliers.items[i]);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void render_groups(const struct writer *writer)
{
	const struct gmt_job *job = writer->job;
	struct gmt_json *json = writer->json;

	gmt_json_key_text(json, "balance_not_judged", job->why_no_groups);
	gmt_json_key_array(json, "groups");
	for (uint32_t g = 0; g < job->group_count; g++) {
		gmt_json_begin_object(json);
		key_text(writer, "role", job->groups[g].role);
		key_robust(writer, "peaks", &job->groups[g].peaks);
		gmt_json_key_array(json, "ranks");
		for (size_t i = 0; i < job->ranks.count; i++)
			if (job->ranks.items[i].group == g)
				gmt_json_i64(json, job->has_ranks ? job->ranks.items[i].launch.rank : (int64_t)i);
		gmt_json_end_array(json);
		gmt_json_key(json, "difference");
		if (g) {
			gmt_json_begin_object(json);
			render_difference(writer, &job->balance.items[g - 1]);
			gmt_json_end_object(json);
		} else
			gmt_json_null(json);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void render_events(const struct writer *writer)
{
	const struct gmt_job *job = writer->job;
	const struct gmt_job_failure *moment = &job->first_failure;
	struct gmt_json *json = writer->json;

	gmt_json_key_object(json, "growth");
	gmt_json_key_u64(json, "ranks", job->grown);
	gmt_json_key_u64(json, "ranks_not_judged", job->not_judged);
	gmt_json_key_text(json, "why_not_judged", job->why_not_judged);
	key_known(writer, "first_rank", rank_number(writer, job->first_grown));
	gmt_json_end_object(json);

	gmt_json_key_object(json, "out_of_memory");
	gmt_json_key_u64(json, "ranks", job->failed);
	key_known(writer, "first_rank", rank_number(writer, moment->rank));
	gmt_json_key_text(json, "compared_by",
		moment->rank == GMT_JOB_NONE ? NULL
			: moment->is_by_step     ? "step"
									 : "time");
	key_robust(writer, "others_held", &moment->others);
	gmt_json_key_text(json, "why_others_not_known", moment->why_not);
	gmt_json_end_object(json);

	gmt_json_key_object(json, "ends");
	for (unsigned end = 0; end < GMT_PROCESS_ENDS; end++)
		gmt_json_key_u64(json, gmt_process_end_name(end), job->ends[end]);
	gmt_json_end_object(json);
	key_known(writer, "first_killed_rank", rank_number(writer, job->first_killed));
}

static void render_sums(const struct writer *writer)
{
	const struct gmt_job *job = writer->job;
	struct gmt_json *json = writer->json;

	gmt_json_key_u64(json, "sum_peak_bytes", job->sum_peak_bytes);
	gmt_json_key_array(json, "hosts");
	for (size_t i = 0; i < job->hosts.count; i++) {
		gmt_json_begin_object(json);
		key_text(writer, "host", job->hosts.items[i].host);
		gmt_json_key_u64(json, "ranks", job->hosts.items[i].ranks);
		gmt_json_key_u64(json, "sum_peak_bytes", job->hosts.items[i].peak_bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_key_array(json, "shared_devices");
	for (size_t i = 0; i < job->shared.count; i++) {
		gmt_json_begin_object(json);
		key_text(writer, "host", job->shared.items[i].host);
		key_text(writer, "uuid", job->shared.items[i].uuid);
		gmt_json_key_u64(json, "processes", job->shared.items[i].processes);
		gmt_json_key_u64(json, "sum_peak_bytes", job->shared.items[i].peak_bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void render_remarks(const struct writer *writer)
{
	struct gmt_json *json = writer->json;

	gmt_json_key_array(json, "remarks");
	for (size_t i = 0; i < writer->view->remark_count; i++)
		gmt_json_text(json, writer->view->remarks[i]);
	for (size_t i = 0; i < writer->job->remarks.count; i++)
		gmt_json_text(json, writer->job->remarks.items[i]);
	gmt_json_end_array(json);
}

void gmt_ranks_json(const struct gmt_ranks_view *view, struct gmt_json *json)
{
	const struct gmt_job *job = view->job;
	const struct writer writer = { view, job, json };

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "schema", "gpumemtrace.ranks/1");
	key_text(&writer, "job", job->key);
	gmt_json_key_text(json, "layer", gmt_layer_name(job->layer));
	key_known(&writer, "world_size", job->world_size);
	gmt_json_key_array(json, "missing_ranks");
	for (size_t i = 0; i < job->missing.count; i++)
		gmt_json_u64(json, job->missing.items[i]);
	gmt_json_end_array(json);
	gmt_json_key_u64(json, "incomplete_ranks", job->incomplete);
	gmt_json_key_u64(json, "least_steps", job->least_steps);
	gmt_json_key_u64(json, "most_steps", job->most_steps);
	gmt_json_key_bool(json, "clocks_differ", job->clocks_differ);
	key_robust(&writer, "peaks", &job->peaks);
	key_robust(&writer, "reserved_peaks", &job->reserved);
	render_groups(&writer);
	render_outliers(&writer);
	render_events(&writer);
	render_sums(&writer);
	render_remarks(&writer);
	gmt_json_key_array(json, "ranks");
	for (size_t i = 0; i < job->ranks.count && !gmt_json_is_full(json); i++)
		render_rank(&writer, &job->ranks.items[i]);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}
