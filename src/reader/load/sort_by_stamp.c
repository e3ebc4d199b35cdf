/* SPDX-License-Identifier: MIT */
#include "reader/load/sort_by_stamp.h"

#include <string.h>

/*
 * The sorter tries this many piles for each run. If no pile fits, it makes a new pile, and the
 * merge restores the order.
 */
enum { MAX_PILES_TRIED = 32 };

/* Lists where each sorted run of keys begins, and the end of the last run. */
static bool list_runs(struct gmt_stamp_sorter *sorter, const struct gmt_stamp_key *keys,
	size_t count)
{
	sorter->starts.count = 0;
	for (size_t i = 0; i <= count; i++) {
		if (i && i < count && keys[i - 1].stamp <= keys[i].stamp)
			continue;

		uint32_t *start = gmt_vec_push(&sorter->starts);

		if (!start)
			return false;
		*start = (uint32_t)i;
	}
	return true;
}

/*
 * Returns the pile for a run that begins at `stamp`: of the newest piles that end at or before the
 * stamp, the pile that ends last. Makes a new pile if there is no such pile. Returns NULL when out
 * of memory.
 */
static struct gmt_stamp_pile *pile_for(struct gmt_stamp_sorter *sorter, uint64_t stamp)
{
	size_t count = sorter->piles.count,
		   first = count > MAX_PILES_TRIED ? count - MAX_PILES_TRIED : 0;
	struct gmt_stamp_pile *best = NULL;

	for (size_t i = first; i < count; i++) {
		struct gmt_stamp_pile *pile = &sorter->piles.items[i];

		if (pile->last_stamp <= stamp && (!best || pile->last_stamp > best->last_stamp))
			best = pile;
	}
	if (!best && (best = gmt_vec_push(&sorter->piles)))
		*best = (struct gmt_stamp_pile){ 0 };
	return best;
}

static bool deal_runs(struct gmt_stamp_sorter *sorter, const struct gmt_stamp_key *keys)
{
	const uint32_t *starts = sorter->starts.items;

	sorter->piles.count = sorter->pile_of_run.count = 0;
	for (size_t run = 0; run + 1 < sorter->starts.count; run++) {
		struct gmt_stamp_pile *pile = pile_for(sorter, keys[starts[run]].stamp);
		uint32_t *dealt = gmt_vec_push(&sorter->pile_of_run);

		if (!pile || !dealt)
			return false;
		*dealt = (uint32_t)(pile - sorter->piles.items);
		pile->last_stamp = keys[starts[run + 1] - 1].stamp;
		pile->count += starts[run + 1] - starts[run];
	}
	return true;
}

/*
 * Copies the keys into `from`, pile by pile. Sets `starts` to the beginning of each pile and the
 * end of the last.
 */
static void copy_to_piles(struct gmt_stamp_sorter *sorter, const struct gmt_stamp_key *keys)
{
	uint32_t end = 0;

	for (size_t i = 0; i < sorter->piles.count; i++) {
		sorter->piles.items[i].end = end;
		end += sorter->piles.items[i].count;
	}
	for (size_t run = 0; run < sorter->pile_of_run.count; run++) {
		struct gmt_stamp_pile *pile = &sorter->piles.items[sorter->pile_of_run.items[run]];
		struct gmt_stamp_key *to = sorter->from.items + pile->end;
		uint32_t first = sorter->starts.items[run], next = sorter->starts.items[run + 1];

		for (uint32_t i = first; i < next; i++)
			*to++ =
				(struct gmt_stamp_key){ .stamp = keys[i].stamp, .rank = i, .slot = keys[i].slot };
		pile->end += next - first;
	}
	/* `starts` has room: there are at most as many piles as runs. */
	for (size_t i = 0; i < sorter->piles.count; i++)
		sorter->starts.items[i + 1] = sorter->piles.items[i].end;
	sorter->starts.count = sorter->piles.count + 1;
}

/*
 * Merges two sorted sequences. Branch-free, because the processor cannot predict which key comes
 * next.
 */
static void merge(const struct gmt_stamp_key *left, const struct gmt_stamp_key *middle,
	const struct gmt_stamp_key *end, struct gmt_stamp_key *to)
{
	const struct gmt_stamp_key *right = middle;

	while (left < middle && right < end) {
		size_t is_right = (size_t)(right->stamp < left->stamp) |
			((size_t)(right->stamp == left->stamp) & (size_t)(right->rank < left->rank));
		const struct gmt_stamp_key *next = is_right ? right : left;

		*to++ = *next;
		right += is_right;
		left += 1 - is_right;
	}
	memcpy(to, left, (size_t)(middle - left) * sizeof(*to));
	memcpy(to + (middle - left), right, (size_t)(end - right) * sizeof(*to));
}

/* Merges neighboring piles, pass by pass, until one is left. Returns its keys. */
static const struct gmt_stamp_key *merge_piles(struct gmt_stamp_sorter *sorter)
{
	struct gmt_stamp_key *from = sorter->from.items, *to = sorter->to.items;
	uint32_t *starts = sorter->starts.items;

	for (size_t piles = sorter->starts.count - 1; piles > 1; piles = (piles + 1) / 2) {
		uint32_t end = starts[piles];

		for (size_t i = 0; i < piles; i += 2) {
			uint32_t middle = starts[i + 1], last = i + 1 < piles ? starts[i + 2] : middle;

			merge(from + starts[i], from + middle, from + last, to + starts[i]);
			starts[i / 2] = starts[i];
		}
		starts[(piles + 1) / 2] = end;

		struct gmt_stamp_key *merged = to;
		to = from;
		from = merged;
	}
	return from;
}

bool gmt_stamp_sort(struct gmt_stamp_sorter *sorter, struct gmt_stamp_key *keys, size_t count)
{
	/* Forget the previous sort. */
	sorter->from.count = sorter->to.count = 0;
	if (!list_runs(sorter, keys, count) || !deal_runs(sorter, keys) ||
		!gmt_vec_reserve(&sorter->from, count) || !gmt_vec_reserve(&sorter->to, count))
		return false;
	copy_to_piles(sorter, keys);
	memcpy(keys, merge_piles(sorter), count * sizeof(*keys));
	return true;
}

void gmt_stamp_sorter_fini(struct gmt_stamp_sorter *sorter)
{
	gmt_vec_fini(&sorter->starts);
	gmt_vec_fini(&sorter->pile_of_run);
	gmt_vec_fini(&sorter->piles);
	gmt_vec_fini(&sorter->from);
	gmt_vec_fini(&sorter->to);
}
