/* SPDX-License-Identifier: MIT */
#include "analysis/live/live_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/budget.h"

/* A site without a name. */
struct candidate {
	uint64_t live_bytes, total_bytes;
	uint32_t trace;
};

struct candidates { /* layout of a GMT_VEC */
	struct candidate *items;
	size_t count, capacity;
};

static int by_importance(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->live_bytes != b->live_bytes)
		return a->live_bytes > b->live_bytes ? -1 : 1;
	if (a->total_bytes != b->total_bytes)
		return a->total_bytes > b->total_bytes ? -1 : 1;
	return (a->trace > b->trace) - (a->trace < b->trace);
}

static bool list_candidates(const struct gmt_live_names *names, const struct gmt_follow *follow,
	struct candidates *candidates)
{
	uint64_t known;

	for (size_t site = 0; site < follow->sites.count; site++) {
		const struct gmt_account_site *row = &follow->accounting.sites.items[site];
		uint32_t trace = follow->sites.items[site].trace;
		struct candidate *candidate;

		if (gmt_map_find(&names->of_trace, trace, &known))
			continue;
		candidate = gmt_vec_push(candidates);
		if (!candidate)
			return false;
		*candidate = (struct candidate){
			.live_bytes = row->live_bytes, .total_bytes = row->total_bytes, .trace = trace
		};
	}
	if (candidates->count)
		qsort(candidates->items, candidates->count, sizeof(*candidates->items), by_importance);
	return true;
}

static bool intern_copy(struct gmt_live_names *names, const char *text, const char **ret_copy)
{
	uint32_t id;

	if (!gmt_intern_text(&names->texts, text, &id))
		return false;
	*ret_copy = gmt_intern_get(&names->texts, id)->bytes;
	return true;
}

/* Stores the name of a trace. `stack` is its merged stack. */
static bool set_name(struct gmt_live_names *names, uint32_t trace, const struct gmt_traces *traces,
	uint32_t stack)
{
	uint32_t count, index;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);
	struct gmt_live_name name;

	/* The structure is a key, so its padding must be zero. */
	memset(&name, 0, sizeof(name));
	name.is_segment = gmt_owners_is_segment(&traces->owners, stack);
	name.function = name.file = "";
	if (count) {
		const struct gmt_place *place =
			gmt_traces_place(traces, places[gmt_traces_own_line(traces, stack)]);

		name.line = place->line;
		name.is_python = place->kind == GMT_PLACE_PYTHON;
		name.is_pin_thread = gmt_traces_is_pin_thread(traces, place);
		if (!intern_copy(names, gmt_traces_string(traces, place->function), &name.function) ||
			!intern_copy(names, gmt_traces_string(traces, place->file), &name.file))
			return false;
	}
	if (!gmt_intern(&names->keys, &name, sizeof(name), &index))
		return false;
	if (index == names->names.count) {
		struct gmt_live_name *slot = gmt_vec_push(&names->names);

		if (!slot)
			return false;
		*slot = name;
	}
	return gmt_map_put(&names->of_trace, trace, index);
}

/*
 * Merges the stacks of the first `count` candidates. They become the only traces of a copy of the
 * recording's structure, which shares all definitions.
 */
static enum gmt_status name_some(struct gmt_live_names *names, const struct gmt_follow *follow,
	const struct gmt_traces_options *options, const struct candidate *candidates, size_t count,
	struct gmt_error *error)
{
	struct gmt_recording excerpt = *follow->recording;
	GMT_VEC(struct gmt_recording_stack_ids) chosen = { 0 };
	struct gmt_traces traces = { 0 };
	enum gmt_status status = gmt_vec_reserve(&chosen, count)
		? GMT_OK
		: gmt_error_set(error, GMT_NO_MEMORY, "out of memory");

	for (size_t i = 0; !status && i < count; i++)
		*gmt_vec_push(&chosen) = follow->recording->traces.items[candidates[i].trace];
	excerpt.traces.items = chosen.items;
	excerpt.traces.count = chosen.count;
	excerpt.traces.capacity = chosen.capacity;
	if (!status)
		status = gmt_traces_compute(&traces, &excerpt, options, error);
	for (size_t i = 0; !status && i < count; i++)
		if (!set_name(names, candidates[i].trace, &traces, traces.stack_of_trace[i]))
			status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	gmt_traces_fini(&traces);
	gmt_vec_fini(&chosen);
	return status;
}

enum gmt_status gmt_live_names_add(struct gmt_live_names *names, const struct gmt_follow *follow,
	const struct gmt_traces_options *options, size_t max_traces, size_t *ret_left,
	struct gmt_error *error)
{
	struct candidates candidates = { 0 };
	enum gmt_status status = GMT_OK;
	size_t count;

	/* The limit of work is for one recording; this one may be followed for days. */
	gmt_budget_begin();
	if (!list_candidates(names, follow, &candidates))
		status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	count = candidates.count < max_traces ? candidates.count : max_traces;
	*ret_left = candidates.count - count;
	if (!status && count)
		status = name_some(names, follow, options, candidates.items, count, error);
	gmt_vec_fini(&candidates);
	return status;
}

const struct gmt_live_name *gmt_live_names_find(const struct gmt_live_names *names, uint32_t trace)
{
	uint64_t index;

	return gmt_map_find(&names->of_trace, trace, &index) ? &names->names.items[index] : NULL;
}

void gmt_live_names_fini(struct gmt_live_names *names)
{
	gmt_map_fini(&names->of_trace);
	gmt_intern_fini(&names->keys);
	gmt_intern_fini(&names->texts);
	gmt_vec_fini(&names->names);
}
