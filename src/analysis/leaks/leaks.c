/* SPDX-License-Identifier: MIT */
#include "analysis/leaks/leaks.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/leaks/leak_groups.h"
#include "reader/load/clock.h"

/* Returns whether a site makes blocks that live as long as the model. They may outlive a phase. */
static bool is_lasting(const struct gmt_leak_builder *builder, uint32_t site)
{
	enum gmt_category category =
		gmt_category_of(builder->replay, builder->traces, builder->history, site);

	return category == GMT_CATEGORY_PARAMETERS || category == GMT_CATEGORY_BUFFERS ||
		category == GMT_CATEGORY_GRADIENTS || category == GMT_CATEGORY_TEMPORARIES ||
		category == GMT_CATEGORY_OPTIMIZER || category == GMT_CATEGORY_WORKSPACE;
}

/* The blocks of one group that were left from one phase. */
struct phase_remainder {
	const char *name; /* name of the phase */
	size_t first, count; /* range in phase_builder.blocks */
};

/* Working data for the findings of definition phase. It is reused for each group. */
struct phase_builder {
	struct gmt_leak_builder *builder;
	/* By site: stamp of the newest block. 0 if the site made only one block. */
	GMT_VEC(uint64_t) newest;
	struct gmt_map ids;       /* name of a phase to index in `remainders` */
	GMT_VEC(struct phase_remainder) remainders;
	/* By block of the group: index in `remainders`, + 1. 0: not left from a phase. */
	GMT_VEC(uint32_t) ids_plus_1;
	GMT_VEC(struct gmt_history_block) blocks; /* sorted by phase */
};

/* Returns the name of the phase that a block is left from. NULL: it is not left from a phase. */
static const char *phase_left_by(const struct phase_builder *phases,
	const struct gmt_history_block *block)
{
	const struct gmt_leak_builder *builder = phases->builder;
	const struct gmt_phase *phase = gmt_timeline_phase(builder->timeline, block->stamp, true);

	/* With --until, a phase may not have ended. */
	if (!phase || phase->end > builder->history->captures[GMT_HISTORY_AT_LAST_PHASE].stamp ||
		block->stamp == phases->newest.items[block->site] || is_lasting(builder, block->site))
		return NULL;
	return phase->name;
}

static bool count_remainder(struct phase_builder *phases, const char *name, uint32_t *ret_id_plus_1)
{
	/* Equal names have the same pointer: they come from the same record of the file. */
	uint64_t id, key = (uint64_t)(uintptr_t)name;

	if (!gmt_map_find(&phases->ids, key, &id)) {
		struct phase_remainder *row = gmt_vec_push(&phases->remainders);

		id = phases->remainders.count - 1;
		if (!row || !gmt_map_put(&phases->ids, key, id))
			return false;
		*row = (struct phase_remainder){ .name = name };
	}
	phases->remainders.items[id].count++;
	*ret_id_plus_1 = (uint32_t)id + 1;
	return true;
}

static bool sort_remainders(struct phase_builder *phases, const struct gmt_history_block *blocks,
	size_t count)
{
	size_t first = 0;

	phases->blocks.count = 0;
	if (!gmt_vec_reserve(&phases->blocks, count))
		return false;
	for (size_t i = 0; i < phases->remainders.count; i++) {
		phases->remainders.items[i].first = first;
		first += phases->remainders.items[i].count;
		phases->remainders.items[i].count = 0;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t id_plus_1 = phases->ids_plus_1.items[i];
		struct phase_remainder *row = id_plus_1 ? &phases->remainders.items[id_plus_1 - 1] : NULL;

		if (row)
			phases->blocks.items[row->first + row->count++] = blocks[i];
	}
	return true;
}

static bool list_remainders(struct phase_builder *phases, const struct gmt_history_block *blocks,
	size_t count)
{
	phases->remainders.count = phases->ids_plus_1.count = 0;
	gmt_map_fini(&phases->ids);
	if (!gmt_vec_reserve(&phases->ids_plus_1, count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (phases->builder->replay->accounting.sites.items[blocks[i].site].alloc_count > 1)
			phases->newest.items[blocks[i].site] = blocks[i].stamp;
	for (size_t i = 0; i < count; i++) {
		const char *name = phase_left_by(phases, &blocks[i]);

		phases->ids_plus_1.items[i] = 0;
		if (name && !count_remainder(phases, name, &phases->ids_plus_1.items[i]))
			return false;
	}
	return sort_remainders(phases, blocks, count);
}

/* Adds one finding for each phase that blocks of the group are left from. */
static bool find_phases_of(struct phase_builder *phases, uint32_t group)
{
	size_t count;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(phases->builder, GMT_HISTORY_AT_LAST_PHASE, group, &count);

	if (count && !list_remainders(phases, blocks, count))
		return false;
	for (size_t i = 0; count && i < phases->remainders.count; i++) {
		const struct phase_remainder *row = &phases->remainders.items[i];
		struct gmt_leak *leak;

		if (!gmt_leak_add(phases->builder, group, GMT_LEAK_PHASE, phases->blocks.items + row->first,
				row->count, NULL, NULL, &leak))
			return false;
		leak->phase = row->name;
	}
	return true;
}

static bool find_phases(struct gmt_leak_builder *builder)
{
	struct phase_builder phases = { .builder = builder };
	bool done;

	if (!builder->history->captures[GMT_HISTORY_AT_LAST_PHASE].taken)
		return true;
	done = gmt_vec_reserve(&phases.newest, builder->replay->accounting.sites.count + 1);
	for (uint32_t group = 0; done && group < builder->groups.count; group++)
		if (!builder->is_reported.items[group] &&
			gmt_leak_is_judged(builder, group, GMT_LEAK_PHASE))
			done = find_phases_of(&phases, group);
	gmt_vec_fini(&phases.newest);
	gmt_map_fini(&phases.ids);
	gmt_vec_fini(&phases.remainders);
	gmt_vec_fini(&phases.ids_plus_1);
	gmt_vec_fini(&phases.blocks);
	return done;
}

/* Returns when the program's work was over, or the time of --until if it is earlier. */
static uint64_t work_end_ns(const struct gmt_leak_builder *builder)
{
	uint64_t end_ns = builder->replay->end_time_ns, work_ns;

	if (builder->timeline->work_end == UINT64_MAX)
		return end_ns;
	work_ns = gmt_clock_time_ns(builder->recording, builder->timeline->work_end);
	return work_ns < end_ns ? work_ns : end_ns;
}

/* Returns whether a block has lived longer than allowed. */
static bool is_old(const void *context, const struct gmt_history_block *block)
{
	const struct gmt_leak_builder *builder = context;
	uint64_t end_ns = work_end_ns(builder);
	const struct gmt_leaks_options *options = builder->options;
	const struct gmt_step_series *series = &builder->timeline->series[0];
	size_t steps = builder->history->series[0].step_count;
	uint32_t step;

	if (is_lasting(builder, block->site))
		return false;
	if (options->age_ns != UINT64_MAX && end_ns >= options->age_ns &&
		gmt_clock_time_ns(builder->recording, block->stamp) < end_ns - options->age_ns)
		return true;
	if (options->age_steps == UINT32_MAX || !steps)
		return false;
	/*
	 * For a stamp outside of steps, gmt_series_find sets the next step, which the block lived
	 * through.
	 */
	gmt_series_find(series, block->stamp, &step);
	return (uint64_t)step + options->age_steps < steps;
}

static bool find_by_end(struct gmt_leak_builder *builder, enum gmt_leak_definition definition)
{
	if (gmt_recording_is_imported(builder->recording)) {
		builder->leaks->why_end_not_judged =
			"the recording was imported, so the end of the program's work is not known";
		return true;
	}
	for (uint32_t group = 0; group < builder->groups.count; group++) {
		struct gmt_leak *leak;
		size_t count;
		const struct gmt_history_block *blocks =
			gmt_leak_blocks(builder, GMT_HISTORY_AT_WORK_END, group, &count);

		if (!builder->is_reported.items[group] && gmt_leak_is_judged(builder, group, definition) &&
			!gmt_leak_add(builder, group, definition, blocks, count,
				definition == GMT_LEAK_AGE ? is_old : NULL, builder, &leak))
			return false;
	}
	return true;
}

static bool list_cached(struct gmt_leaks *leaks, const struct gmt_history *history)
{
	const struct gmt_history_capture *end = &history->captures[GMT_HISTORY_AT_WORK_END];

	for (size_t i = 0; i < end->accounts.count; i++) {
		const struct gmt_account *account = &end->accounts.items[i];

		if (!account->has_totals ||
			account->reported_reserved_bytes <= account->reported_allocated_bytes)
			continue;

		struct gmt_leak_cached *row = gmt_vec_push(&leaks->cached);
		if (!row)
			return false;
		*row = (struct gmt_leak_cached){
			.device = account->device,
			.bytes = account->reported_reserved_bytes - account->reported_allocated_bytes,
		};
	}
	return true;
}

/*
 * Removes findings of growth that the user did not ask for. They were necessary to compute
 * unexplained growth.
 */
static void drop_unasked(struct gmt_leak_builder *builder)
{
	struct gmt_leaks *leaks = builder->leaks;
	uint32_t wanted = builder->options->definitions;
	size_t kept = 0;

	if (!(wanted & GMT_LEAK_BY_STEPS) || wanted >> GMT_LEAK_GROWTH & 1)
		return;
	for (size_t i = 0; i < leaks->rows.count; i++)
		if (leaks->rows.items[i].definition == GMT_LEAK_GROWTH)
			gmt_leak_fini(&leaks->rows.items[i]);
		else
			leaks->rows.items[kept++] = leaks->rows.items[i];
	leaks->rows.count = kept;
	for (size_t i = 0; i < builder->groups.count; i++)
		builder->is_reported.items[i] = false;
}

/* Sorts by definition, then by growth rate, then by size. Ties are in the order of the file. */
static int strongest_first(const void *left, const void *right)
{
	const struct gmt_leak *a = left, *b = right;

	if (a->definition != b->definition)
		return a->definition < b->definition ? -1 : 1;
	if (a->bytes_per_step != b->bytes_per_step)
		return a->bytes_per_step > b->bytes_per_step ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	if (a->layer != b->layer)
		return a->layer < b->layer ? -1 : 1;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	return a->phase && b->phase ? strcmp(a->phase, b->phase) : 0;
}

enum gmt_status gmt_leaks_compute(struct gmt_leaks *ret_leaks,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_timeline *timeline, const struct gmt_replay *replay,
	const struct gmt_history *history, const struct gmt_leaks_options *options,
	struct gmt_error *error)
{
	struct gmt_leak_builder builder = {
		.leaks = ret_leaks,
		.recording = recording,
		.traces = traces,
		.timeline = timeline,
		.replay = replay,
		.history = history,
		.options = options,
	};
	bool done = !gmt_arenas_compute(&ret_leaks->arenas, traces, replay, error) &&
		gmt_leak_groups_make(&builder) && gmt_leak_find_growth(&builder);

	if (done)
		drop_unasked(&builder);
	done = done && find_phases(&builder) && find_by_end(&builder, GMT_LEAK_AGE) &&
		find_by_end(&builder, GMT_LEAK_EXIT) && list_cached(ret_leaks, history) &&
		gmt_leak_add_hints(&builder);

	if (done) {
		gmt_leak_note_compacted(&builder);
		ret_leaks->given_back.count =
			gmt_leak_sort_lines(ret_leaks->given_back.items, ret_leaks->given_back.count);
		ret_leaks->levels_off.count =
			gmt_leak_sort_lines(ret_leaks->levels_off.items, ret_leaks->levels_off.count);
		if (ret_leaks->rows.count)
			qsort(ret_leaks->rows.items, ret_leaks->rows.count, sizeof(*ret_leaks->rows.items),
				strongest_first);
	}
	gmt_leak_groups_fini(&builder);
	if (done)
		return GMT_OK;
	gmt_leaks_fini(ret_leaks);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

void gmt_leaks_fini(struct gmt_leaks *leaks)
{
	for (size_t i = 0; i < leaks->rows.count; i++)
		gmt_leak_fini(&leaks->rows.items[i]);
	gmt_vec_fini(&leaks->rows);
	gmt_vec_fini(&leaks->cached);
	gmt_arenas_fini(&leaks->arenas);
	gmt_vec_fini(&leaks->given_back);
	gmt_vec_fini(&leaks->levels_off);
}
