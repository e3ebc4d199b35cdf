/* SPDX-License-Identifier: MIT */
/*
 * Finds followers: blocks that each step makes again, as large as something that grows. For
 * example, the scores of a batch against a bank of vectors are as wide as the bank. The bank is the
 * leak; the scores only follow it.
 */
#include "analysis/leaks/leak_evidence.h"

#include <string.h>

#include "reader/stacks/frame_kinds.h"

enum {
	ROUNDING_BYTES = 1024, /* PyTorch's blocks are multiples of 512 bytes */
	TOLERANCE = 50,        /* two curves may differ by 1/50 of the rise */
};

/* The curve of the line of a finding. */
struct curve {
	const uint32_t *sites; /* sites of the line */
	size_t site_count;
	uint64_t *held; /* by sample of the range */
	bool is_joined; /* the growing block is made by joining tensors (torch.cat) */
};

/* Fills curve->held and is_joined from the sites. False when out of memory. */
static bool fill(struct gmt_leak_search *search, struct curve *curve, size_t first, size_t count)
{
	const struct gmt_leak_builder *builder = search->builder;
	uint64_t all_bytes = 0, joined_bytes = 0;

	if (!gmt_leak_curve_begin(search))
		return false;
	for (size_t i = 0; i < curve->site_count; i++) {
		uint32_t site = curve->sites[i], stack = builder->replay->site_stacks.items[site];
		uint64_t bytes = gmt_leak_held_by(search, site, first + count - 1);

		all_bytes += bytes;
		if (builder->traces->stack_frame_kinds.items[stack] & GMT_FRAME_KIND_BIT(CAT))
			joined_bytes += bytes;
		gmt_leak_curve_add(search, site);
	}
	memcpy(curve->held, search->held.items + first, count * sizeof(*curve->held));
	curve->is_joined = joined_bytes * 2 >= all_bytes;
	search->pairs_left -=
		curve->site_count < search->pairs_left ? curve->site_count : search->pairs_left;
	return true;
}

/* Returns whether `curve` rises in proportion to `leader` at each sample. */
static bool is_in_proportion(const struct curve *curve, const struct curve *leader, size_t count)
{
	double all = (double)curve->held[count - 1] - (double)curve->held[0];
	double all_leader = (double)leader->held[count - 1] - (double)leader->held[0];

	if (all <= 0 || all_leader <= 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		double rose = (double)curve->held[i] - (double)curve->held[0];
		double wanted = ((double)leader->held[i] - (double)leader->held[0]) * all / all_leader;
		double difference = rose > wanted ? rose - wanted : wanted - rose;

		if (difference > ROUNDING_BYTES + all / TOLERANCE)
			return false;
	}
	return true;
}

static bool are_comparable(const struct gmt_leak *leak, const struct gmt_leak *other,
	uint32_t series)
{
	return leak->definition == GMT_LEAK_GROWTH && leak->replaced && leak->series == series &&
		other->definition == GMT_LEAK_GROWTH && other->replaced && other->series == series &&
		leak != other && leak->layer == other->layer && leak->device == other->device &&
		leak->space == other->space;
}

static struct curve curve_of(const struct gmt_leak *leak, const uint32_t *sites,
	const size_t *first_site, uint64_t *held_buffer)
{
	return (struct curve){
		.sites = sites + first_site[leak->group],
		.site_count = first_site[leak->group + 1] - first_site[leak->group],
		.held = held_buffer,
	};
}

/*
 * Finds the finding that leaks->rows.items[row] follows. Sets *ret_leader to it, or to NULL if it
 * follows no finding. Sets *ret_line to the line that follows. `held_buffer` must have space for
 * the samples of two curves. False when out of memory.
 */
static bool find_leader(struct gmt_leak_search *search, size_t row, const uint32_t *sites,
	const size_t *first_site, uint64_t *held_buffer, struct gmt_leak **ret_leader,
	struct gmt_leak_line *ret_line)
{
	struct gmt_leaks *leaks = search->builder->leaks;
	const struct gmt_leak *leak = &leaks->rows.items[row];
	size_t first = search->span.first_sample, count = search->span.samples - first;
	const struct gmt_leak_climb climb = { first, first + count - 1, 0 };
	bool is_filled = false;
	struct curve curve;

	*ret_leader = NULL;
	for (size_t i = 0; i < leaks->rows.count && search->pairs_left; i++) {
		struct gmt_leak *other = &leaks->rows.items[i];
		struct curve leader;

		search->pairs_left--;
		if (!are_comparable(leak, other, search->span.series))
			continue;
		if (!is_filled) {
			curve = curve_of(leak, sites, first_site, held_buffer);
			if (!fill(search, &curve, first, count))
				return false;
			is_filled = true;
		}
		leader = curve_of(other, sites, first_site, held_buffer + count);
		if (curve.is_joined)
			return true;
		if (!fill(search, &leader, first, count))
			return false;
		if (!leader.is_joined || !is_in_proportion(&curve, &leader, count))
			continue;
		*ret_line = gmt_leak_line_of(search, leak->group, curve.sites, curve.site_count, &climb);
		*ret_leader = other;
		return true;
	}
	return true;
}

bool gmt_leak_join_followers(struct gmt_leak_search *search, const uint32_t *sites,
	const size_t *first_site)
{
	struct gmt_leaks *leaks = search->builder->leaks;
	GMT_VEC(uint64_t) held_buffer = { 0 };
	bool done = gmt_vec_reserve(&held_buffer, 2 * search->span.samples);

	for (size_t row = leaks->rows.count; done && row-- > 0;) {
		struct gmt_leak_line line, *follower;
		struct gmt_leak *leader, *last;

		done = find_leader(search, row, sites, first_site, held_buffer.items, &leader, &line);
		if (!done || !leader)
			continue;
		follower = gmt_vec_push(&leader->followers);
		done = follower;
		if (!done)
			continue;
		*follower = line;
		gmt_leak_fini(&leaks->rows.items[row]);
		last = &leaks->rows.items[--leaks->rows.count];
		if (last != &leaks->rows.items[row])
			leaks->rows.items[row] = *last;
	}
	gmt_vec_fini(&held_buffer);
	return done;
}
