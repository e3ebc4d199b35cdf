/* SPDX-License-Identifier: MIT */
#include "analysis/leaks.h"

#include <stdlib.h>

#include "analysis/leak_groups.h"
#include "model/clock.h"

const char *gmt_leak_definition_name(enum gmt_leak_definition definition)
{
	static const char *const names[] = {
#define GMT_LEAK_DEFINITION(NAME, name, meaning) name,
#include "analysis/leak_definitions.def"
#undef GMT_LEAK_DEFINITION
	};

	return names[definition];
}

/* What lives as long as the model does is meant to outlive a phase. */
static bool is_lasting(const struct gmt_leak_maker *maker, uint32_t site)
{
	enum gmt_category category = gmt_category_of(maker->replay, maker->traces, maker->history, site);

	return category == GMT_CATEGORY_PARAMETERS || category == GMT_CATEGORY_GRADIENTS ||
		category == GMT_CATEGORY_OPTIMIZER || category == GMT_CATEGORY_WORKSPACE;
}

/* What a finding of definition phase asks of each block. */
struct phase_question {
	struct gmt_leak_maker *maker;
	const char *name; /* of the phase that the finding is about */
	GMT_VEC(const struct gmt_phase *) phases; /* by block of the group */
	const struct gmt_history_block *blocks;
	GMT_VEC(uint64_t) newest; /* by site: the stamp of its newest block; 0 unless it made several */
};

static bool is_left_from_phase(void *context, const struct gmt_history_block *block)
{
	struct phase_question *question = context;
	const struct gmt_phase *phase = question->phases.items[block - question->blocks];

	return phase && phase->name == question->name && block->stamp != question->newest.items[block->site] &&
		!is_lasting(question->maker, block->site);
}

static bool prepare_question(struct phase_question *question, const struct gmt_history_block *blocks, size_t count)
{
	const struct gmt_leak_maker *maker = question->maker;

	question->phases.count = 0;
	question->blocks = blocks;
	if (!gmt_vec_reserve(&question->phases, count + 1))
		return false;
	for (size_t i = 0; i < count; i++) {
		uint32_t site = blocks[i].site;

		question->phases.items[question->phases.count++] = gmt_timeline_phase(maker->timeline, blocks[i].stamp, true);
		if (maker->replay->books.sites.items[site].alloc_count > 1)
			question->newest.items[site] = blocks[i].stamp;
	}
	return true;
}

/* One finding for each phase that the group's blocks are left from. */
static bool find_phases_of(struct phase_question *question, uint32_t group)
{
	size_t count;
	const struct gmt_history_block *blocks =
		gmt_leak_blocks(question->maker, GMT_MOMENT_LAST_PHASE, group, &count);

	if (!prepare_question(question, blocks, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		struct gmt_leak *leak;

		if (!question->phases.items[i])
			continue;
		question->name = question->phases.items[i]->name;
		if (!gmt_leak_add(question->maker, group, GMT_LEAK_PHASE, GMT_MOMENT_LAST_PHASE,
				is_left_from_phase, question, &leak))
			return false;
		if (leak)
			leak->phase = question->name;
		/* Names are one for equal texts: the same record of the file. */
		for (size_t other = i; other < count; other++)
			if (question->phases.items[other] &&
				question->phases.items[other]->name == question->name)
				question->phases.items[other] = NULL;
	}
	return true;
}

static bool find_phases(struct gmt_leak_maker *maker)
{
	struct phase_question question = { .maker = maker };
	bool done;

	if (!maker->history->captures[GMT_MOMENT_LAST_PHASE].taken)
		return true;
	done = gmt_vec_reserve(&question.newest, maker->replay->books.sites.count + 1);
	for (uint32_t group = 0; done && group < maker->groups.count; group++)
		if (!maker->is_reported.items[group] && gmt_leak_is_judged(maker, group, GMT_LEAK_PHASE))
			done = find_phases_of(&question, group);
	gmt_vec_fini(&question.phases);
	gmt_vec_fini(&question.newest);
	return done;
}

/* Whether a block has lived for longer than was allowed. */
static bool is_old(void *context, const struct gmt_history_block *block)
{
	const struct gmt_leak_maker *maker = context;
	const struct gmt_leaks_options *options = maker->options;
	const struct gmt_step_series *series = &maker->timeline->series[0];
	size_t steps = maker->history->series[0].step_count;
	uint32_t step;

	if (is_lasting(maker, block->site))
		return false;
	if (options->age_ns != UINT64_MAX && maker->replay->end_time_ns >= options->age_ns &&
		gmt_clock_time_ns(maker->snapshot, block->stamp) < maker->replay->end_time_ns - options->age_ns)
		return true;
	if (options->age_steps == UINT32_MAX || !steps)
		return false;
	return gmt_series_find(series, block->stamp, &step) && (uint64_t)step + options->age_steps < steps;
}

static bool find_by_end(struct gmt_leak_maker *maker, enum gmt_leak_definition definition)
{
	for (uint32_t group = 0; group < maker->groups.count; group++) {
		struct gmt_leak *leak;

		if (!maker->is_reported.items[group] && gmt_leak_is_judged(maker, group, definition) &&
			!gmt_leak_add(maker, group, definition, GMT_MOMENT_WORK_END,
				definition == GMT_LEAK_AGE ? is_old : NULL, maker, &leak))
			return false;
	}
	return true;
}

static bool list_cached(struct gmt_leaks *leaks, const struct gmt_history *history)
{
	const struct gmt_history_capture *end = &history->captures[GMT_MOMENT_WORK_END];

	for (size_t i = 0; i < end->accounts.count; i++) {
		const struct gmt_books_account *account = &end->accounts.items[i];

		if (!account->has_totals || account->told_reserved_bytes <= account->told_allocated_bytes)
			continue;

		struct gmt_leak_cached *row = gmt_vec_push(&leaks->cached);
		if (!row)
			return false;
		*row = (struct gmt_leak_cached){
			.device = account->device,
			.bytes = account->told_reserved_bytes - account->told_allocated_bytes,
		};
	}
	return true;
}

/* By definition, then what grows fastest or is most; then as the file has them. */
static int strongest_first(const void *left, const void *right)
{
	const struct gmt_leak *a = left, *b = right;

	if (a->definition != b->definition)
		return a->definition < b->definition ? -1 : 1;
	if (a->bytes_per_step != b->bytes_per_step)
		return a->bytes_per_step > b->bytes_per_step ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static void give_hints(struct gmt_leak_maker *maker)
{
	for (size_t i = 0; i < maker->leaks->rows.count; i++)
		maker->leaks->rows.items[i].hint = gmt_leak_hint(maker, &maker->leaks->rows.items[i]);
}

enum gmt_status gmt_leaks_init(struct gmt_leaks *ret_leaks, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline, const struct gmt_replay *replay,
	const struct gmt_history *history, const struct gmt_leaks_options *options, struct gmt_error *error)
{
	struct gmt_leak_maker maker = {
		.leaks = ret_leaks, .snapshot = snapshot, .traces = traces, .timeline = timeline,
		.replay = replay, .history = history, .options = options,
	};
	bool done = gmt_leak_groups_make(&maker) && gmt_leak_find_growth(&maker) && find_phases(&maker) &&
		find_by_end(&maker, GMT_LEAK_AGE) && find_by_end(&maker, GMT_LEAK_EXIT) &&
		list_cached(ret_leaks, history);

	if (done) {
		give_hints(&maker);
		if (ret_leaks->rows.count)
			qsort(ret_leaks->rows.items, ret_leaks->rows.count, sizeof(*ret_leaks->rows.items),
				strongest_first);
	}
	gmt_leak_groups_fini(&maker);
	if (done)
		return GMT_OK;
	gmt_leaks_fini(ret_leaks);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

void gmt_leaks_fini(struct gmt_leaks *leaks)
{
	for (size_t i = 0; i < leaks->rows.count; i++)
		gmt_vec_fini(&leaks->rows.items[i].births);
	gmt_vec_fini(&leaks->rows);
	gmt_vec_fini(&leaks->cached);
	gmt_arena_fini(&leaks->arena);
}
