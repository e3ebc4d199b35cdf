/* SPDX-License-Identifier: MIT */
#include "reader/steps/step_counters.h"

#include <string.h>

/* Counters that are used in sequence and count as one. */
struct chain {
	uint64_t class;
	uint64_t last; /* stamp */
	uint64_t count, second_half_count;
	bool in_rows; /* each of its counters counts IN_A_ROW times or more in a row, on average */
};

/* A counter counts in rows if its average count per run is at least this. */
enum { IN_A_ROW = 3 };

static uint64_t class_of(const char *class)
{
	return gmt_hash_bytes(class, strlen(class));
}

static uint64_t id_of(uint64_t key, const char *class)
{
	return gmt_hash_u64(key) ^ class_of(class);
}

bool gmt_step_counters_add(struct gmt_step_counters *counters, uint64_t key, const char *class,
	uint64_t stamp)
{
	uint64_t index;

	if (!gmt_map_find(&counters->ids, id_of(key, class), &index)) {
		struct gmt_step_counter *row = gmt_vec_push(&counters->rows);

		index = counters->rows.count - 1;
		if (!row || !gmt_map_put(&counters->ids, id_of(key, class), index))
			return false;
		*row = (struct gmt_step_counter){ .class = class_of(class), .first = stamp };
	}
	counters->rows.items[index].last = stamp;
	counters->rows.items[index].runs += counters->last_plus_1 != index + 1;
	counters->last_plus_1 = index + 1;
	counters->rows.items[index].count++;
	counters->rows.items[index].second_half_count += counters->is_second_half;
	return true;
}

void gmt_step_counters_add_to_last(struct gmt_step_counters *counters, uint64_t more)
{
	counters->rows.items[counters->last_plus_1 - 1].count += more;
}

/*
 * Maximum number of chains with which a counter is compared. Without this limit, a hostile file
 * could make the cost quadratic.
 */
enum { MAX_CHAINS = 256 };

static bool may_follow(const struct chain *chain, const struct gmt_step_counter *row,
	enum gmt_step_counters_chaining chaining)
{
	if (chaining == GMT_STEP_COUNTERS_OF_A_CLASS && chain->class != row->class)
		return false;
	return chain->last < row->first ||
		(chaining == GMT_STEP_COUNTERS_IN_ROWS && chain->in_rows &&
			row->count >= IN_A_ROW * row->runs);
}

bool gmt_step_counters_chain(struct gmt_step_counters *counters,
	enum gmt_step_counters_chaining chaining)
{
	GMT_VEC(struct chain) chains = { 0 };
	bool done = true;

	/* Rows are in order of their first stamp. */
	for (size_t i = 0; done && i < counters->rows.count; i++) {
		struct gmt_step_counter *row = &counters->rows.items[i];
		size_t c = 0;

		while (c < chains.count && !may_follow(&chains.items[c], row, chaining))
			c++;
		if (c == chains.count && c < MAX_CHAINS) {
			struct chain *chain = gmt_vec_push(&chains);

			done = chain;
			if (done)
				*chain = (struct chain){ .class = row->class, .in_rows = true };
		}
		row->chain = (uint32_t)c;
		if (done && c < chains.count) {
			chains.items[c].last =
				row->last > chains.items[c].last ? row->last : chains.items[c].last;
			chains.items[c].in_rows &= row->count >= IN_A_ROW * row->runs;
			chains.items[c].count += row->count;
			chains.items[c].second_half_count += row->second_half_count;
		}
	}
	for (size_t c = 0; c < chains.count; c++)
		if (counters->is_second_half ? chains.items[c].second_half_count >
					chains.items[counters->winner].second_half_count
									 : chains.items[c].count > chains.items[counters->winner].count)
			counters->winner = (uint32_t)c;
	gmt_vec_fini(&chains);
	return done;
}

bool gmt_step_counters_counts(const struct gmt_step_counters *counters, uint64_t key,
	const char *class)
{
	uint64_t index;

	return gmt_map_find(&counters->ids, id_of(key, class), &index) &&
		counters->rows.items[index].chain == counters->winner;
}

void gmt_step_counters_fini(struct gmt_step_counters *counters)
{
	gmt_map_fini(&counters->ids);
	gmt_vec_fini(&counters->rows);
}
