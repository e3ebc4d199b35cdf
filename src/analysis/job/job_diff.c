/* SPDX-License-Identifier: MIT */
#include "analysis/job/job_diff.h"

#include <stdlib.h>
#include <string.h>

enum { BASE = GMT_JOB_DIFF_BASE, NEW = GMT_JOB_DIFF_NEW };

/* The lines of one rank on both sides. */
struct lines {
	GMT_VEC(struct gmt_job_diff_line) items;
};

static int compare_names(const struct gmt_job_diff_line *a, const struct gmt_job_diff_line *b)
{
	int order = strcmp(a->file, b->file);

	return order ? order : strcmp(a->function, b->function);
}

static int compare_lines(const void *a, const void *b)
{
	return compare_names(a, b);
}

static uint64_t absolute(int64_t bytes)
{
	return bytes < 0 ? 0 - (uint64_t)bytes : (uint64_t)bytes;
}

static int64_t change_of(const struct gmt_job_diff_line *line)
{
	return (int64_t)(line->bytes[NEW] - line->bytes[BASE]);
}

static int compare_ranks(const void *a, const void *b)
{
	const struct gmt_job_diff_rank *left = a, *right = b;
	uint64_t left_bytes = absolute(left->bytes), right_bytes = absolute(right->bytes);

	if (left_bytes != right_bytes)
		return left_bytes > right_bytes ? -1 : 1;
	return (left->index[BASE] > right->index[BASE]) - (left->index[BASE] < right->index[BASE]);
}

/* Adds the places of one side that are on a device, in the job's layer. */
static bool add_places(struct lines *lines, const struct gmt_job *job, uint32_t rank, unsigned side)
{
	const struct gmt_process_summary *summary = job->ranks.items[rank].summary;

	for (uint32_t i = 0; i < summary->place_count; i++) {
		const struct gmt_summarized_place *from = &summary->places[i];
		const struct gmt_job_place *place = gmt_job_place_of(job->store, from->place);
		struct gmt_job_diff_line *line;

		if (from->layer != job->layer || from->device < 0 || !from->peak_bytes)
			continue;
		line = gmt_vec_push(&lines->items);
		if (!line)
			return false;
		*line = (struct gmt_job_diff_line){
			.file = gmt_job_text_of(job->store, place->file),
			.function = gmt_job_text_of(job->store, place->function),
		};
		line->bytes[side] = from->peak_bytes;
	}
	return true;
}

/* Puts a line among the largest changes. */
static void keep(struct gmt_job_diff_rank *rank, const struct gmt_job_diff_line *line)
{
	uint32_t at = rank->line_count;

	if (at == GMT_JOB_LINES &&
		absolute(change_of(&rank->lines[at - 1])) >= absolute(change_of(line)))
		return;
	if (at < GMT_JOB_LINES)
		rank->line_count++;
	else
		at--;
	for (; at && absolute(change_of(&rank->lines[at - 1])) < absolute(change_of(line)); at--)
		rank->lines[at] = rank->lines[at - 1];
	rank->lines[at] = *line;
}

/* Finds the functions that explain the difference of a rank. */
static bool explain(struct lines *lines, const struct gmt_job_diff *diff,
	struct gmt_job_diff_rank *rank)
{
	lines->items.count = 0;
	for (unsigned side = 0; side < GMT_JOB_DIFF_SIDES; side++)
		if (!add_places(lines, diff->jobs[side], rank->index[side], side))
			return false;
	if (lines->items.count)
		qsort(lines->items.items, lines->items.count, sizeof(*lines->items.items), compare_lines);
	for (size_t i = 0; i < lines->items.count;) {
		struct gmt_job_diff_line line = lines->items.items[i];

		while (++i < lines->items.count && compare_names(&line, &lines->items.items[i]) == 0) {
			line.bytes[BASE] += lines->items.items[i].bytes[BASE];
			line.bytes[NEW] += lines->items.items[i].bytes[NEW];
		}
		if (change_of(&line) && (change_of(&line) > 0) == (rank->bytes > 0))
			keep(rank, &line);
	}
	return true;
}

/* Returns where a rank stands in the order by which ranks are matched. */
static int64_t order_of(const struct gmt_job_diff *diff, unsigned side, uint32_t index)
{
	return diff->jobs[BASE]->has_ranks && diff->jobs[NEW]->has_ranks
		? diff->jobs[side]->ranks.items[index].launch.rank
		: (int64_t)index;
}

static bool match(struct gmt_job_diff *diff)
{
	const struct gmt_job *const *jobs = diff->jobs;
	uint32_t at[GMT_JOB_DIFF_SIDES] = { 0, 0 };

	while (at[BASE] < jobs[BASE]->ranks.count || at[NEW] < jobs[NEW]->ranks.count) {
		bool has_base = at[BASE] < jobs[BASE]->ranks.count;
		bool has_new = at[NEW] < jobs[NEW]->ranks.count;
		int64_t base = has_base ? order_of(diff, BASE, at[BASE]) : INT64_MAX;
		int64_t new = has_new ? order_of(diff, NEW, at[NEW]) : INT64_MAX;

		if (base != new) {
			unsigned side = base < new ? BASE : NEW;
			uint32_t *only = gmt_vec_push(&diff->only[side]);

			if (!only)
				return false;
			*only = (uint32_t)order_of(diff, side, at[side]);
			at[side]++;
			continue;
		}

		struct gmt_job_diff_rank *rank = gmt_vec_push(&diff->ranks);
		if (!rank)
			return false;
		*rank = (struct gmt_job_diff_rank){
			.index = { at[BASE], at[NEW] },
			.bytes = (int64_t)(jobs[NEW]->ranks.items[at[NEW]].peak_bytes -
				jobs[BASE]->ranks.items[at[BASE]].peak_bytes),
		};
		at[BASE]++;
		at[NEW]++;
	}
	return true;
}

bool gmt_job_diff_init(struct gmt_job_diff *ret_diff, const struct gmt_job *base,
	const struct gmt_job *new)
{
	struct lines lines = { 0 };
	bool done;

	ret_diff->jobs[BASE] = base;
	ret_diff->jobs[NEW] = new;
	ret_diff->has_other_layer = base->layer != new->layer;
	done = match(ret_diff);
	if (ret_diff->ranks.count)
		qsort(ret_diff->ranks.items, ret_diff->ranks.count, sizeof(*ret_diff->ranks.items),
			compare_ranks);
	for (size_t i = 0; done && i < ret_diff->ranks.count; i++)
		if (ret_diff->ranks.items[i].bytes)
			done = explain(&lines, ret_diff, &ret_diff->ranks.items[i]);
	gmt_vec_fini(&lines.items);
	return done;
}

void gmt_job_diff_fini(struct gmt_job_diff *diff)
{
	gmt_vec_fini(&diff->ranks);
	for (unsigned side = 0; side < GMT_JOB_DIFF_SIDES; side++)
		gmt_vec_fini(&diff->only[side]);
}
