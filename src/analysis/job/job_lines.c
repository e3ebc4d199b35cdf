/* SPDX-License-Identifier: MIT */
/* Compares what the lines of two ranks held at the peak. */
#include <stdlib.h>

#include "analysis/job/job_make.h"

/* A line of two ranks: what they held at the peak in the job's layer, on all devices. */
struct pair {
	uint32_t place;
	uint64_t a_bytes, b_bytes;
};

struct walk {
	const struct gmt_process_summary *a, *b;
	uint32_t at_a, at_b;
	uint8_t layer;
};

static struct walk walk_of(const struct gmt_job *job, uint32_t a, uint32_t b)
{
	return (struct walk){
		.a = job->ranks.items[a].summary,
		.b = job->ranks.items[b].summary,
		.layer = job->layer,
	};
}

/* Adds up the rows of one place. */
static uint64_t take(const struct gmt_process_summary *summary, uint32_t *at, uint32_t place,
	uint8_t layer)
{
	uint64_t bytes = 0;

	for (; *at < summary->place_count && summary->places[*at].place == place; ++*at)
		if (summary->places[*at].layer == layer && summary->places[*at].device >= 0)
			bytes += summary->places[*at].peak_bytes;
	return bytes;
}

/* Gets the next line that one of the two ranks has. The lines of both are sorted by place. */
static bool next(struct walk *walk, struct pair *ret_pair)
{
	uint32_t a = walk->at_a < walk->a->place_count ? walk->a->places[walk->at_a].place : UINT32_MAX;
	uint32_t b = walk->at_b < walk->b->place_count ? walk->b->places[walk->at_b].place : UINT32_MAX;

	ret_pair->place = a < b ? a : b;
	if (ret_pair->place == UINT32_MAX)
		return false;
	ret_pair->a_bytes = take(walk->a, &walk->at_a, ret_pair->place, walk->layer);
	ret_pair->b_bytes = take(walk->b, &walk->at_b, ret_pair->place, walk->layer);
	return true;
}

uint32_t gmt_job_count_differences(const struct gmt_job *job, uint32_t a, uint32_t b)
{
	enum { MIN_DIFFERENCE_BYTES = 64 << 10, SHARE = 50 };
	struct walk walk = walk_of(job, a, b);
	struct pair pair;
	uint32_t count = 0;

	while (next(&walk, &pair)) {
		uint64_t low = pair.a_bytes < pair.b_bytes ? pair.a_bytes : pair.b_bytes;
		uint64_t difference = pair.a_bytes + pair.b_bytes - 2 * low;

		count += difference > MIN_DIFFERENCE_BYTES && difference > low / SHARE;
	}
	return count;
}

/* Adds a line to the largest differences, if it is one of them. */
static void add_if_large(struct gmt_job_difference *difference, const struct gmt_job_line *line)
{
	uint32_t at = difference->line_count;

	if (at == GMT_JOB_LINES && llabs(difference->lines[at - 1].bytes) >= llabs(line->bytes))
		return;
	if (at < GMT_JOB_LINES)
		difference->line_count++;
	else
		at--;
	for (; at && llabs(difference->lines[at - 1].bytes) < llabs(line->bytes); at--)
		difference->lines[at] = difference->lines[at - 1];
	difference->lines[at] = *line;
}

void gmt_job_explain(const struct gmt_job *job, uint32_t rank, uint32_t other,
	struct gmt_job_difference *ret_difference)
{
	struct walk walk = walk_of(job, rank, other);
	struct pair pair;
	int64_t bytes =
		(int64_t)(job->ranks.items[rank].peak_bytes - job->ranks.items[other].peak_bytes);

	*ret_difference = (struct gmt_job_difference){ .rank = rank, .other = other, .bytes = bytes };
	while (next(&walk, &pair)) {
		const struct gmt_job_line line = {
			.place = pair.place,
			.bytes = (int64_t)(pair.a_bytes - pair.b_bytes),
			.held_bytes = pair.a_bytes,
		};

		/* Only lines that explain the direction of the difference. */
		if (line.bytes && (line.bytes > 0) == (bytes > 0))
			add_if_large(ret_difference, &line);
	}
}
