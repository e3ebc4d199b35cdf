/* SPDX-License-Identifier: MIT */
#include "reader/steps/module_runs.h"

/*
 * Where a stack lies. NEUTRAL: unknown (a backward pass, or no Python frames). OUTSIDE: outside of
 * module calls. FIRST_CONTEXT + i: in a module call from contexts[i].
 */
enum { NOT_EXAMINED = 0, NEUTRAL, OUTSIDE, FIRST_CONTEXT };

static uint32_t frame_kinds_of(const struct gmt_module_runs *runs, uint32_t place)
{
	return runs->traces->place_frame_kinds.items[place];
}

/*
 * Finds the outermost module call in a stack. Returns false if there is no call, or a loss is
 * called.
 */
static bool find_call(const struct gmt_module_runs *runs, const uint32_t *places, uint32_t count,
	uint32_t *ret_at)
{
	uint32_t at = count;

	while (at && !(frame_kinds_of(runs, places[at - 1]) & GMT_FRAME_KIND_BIT(MODULE_CALL)))
		at--;
	if (!at)
		return false;
	*ret_at = at; /* the first frame outside of the call */
	for (at--; at && frame_kinds_of(runs, places[at]) & GMT_FRAME_KIND_BIT(MODULE_CALL); at--)
		;
	return !(frame_kinds_of(runs, places[at]) & GMT_FRAME_KIND_BIT(LOSS));
}

/*
 * Finds or makes the context of the frames outside of a call. Ignores native frames, because their
 * number varies: deep stacks are cut.
 */
static bool context_of(struct gmt_module_runs *runs, const uint32_t *outside, uint32_t count,
	uint32_t *ret_context)
{
	uint64_t hash = 0, index;

	for (uint32_t i = 0; i < count; i++)
		if (gmt_traces_place(runs->traces, outside[i])->kind == GMT_PLACE_PYTHON)
			hash = gmt_hash_u64(hash ^ outside[i]);
	if (!gmt_map_find(&runs->context_ids, hash, &index)) {
		struct gmt_module_context *context = gmt_vec_push(&runs->contexts);

		index = runs->contexts.count - 1;
		if (!context || !gmt_map_put(&runs->context_ids, hash, index))
			return false;
		*context = (struct gmt_module_context){ .hash = hash };
	}
	*ret_context = (uint32_t)index;
	return true;
}

static bool kind_of(struct gmt_module_runs *runs, uint32_t stack, uint32_t *ret_kind)
{
	uint32_t *kind = &runs->stack_kinds.items[stack];
	uint32_t frame_kinds = runs->traces->stack_frame_kinds.items[stack];
	uint32_t count, at, context;
	const uint32_t *places;

	if (*kind == NOT_EXAMINED) {
		places = gmt_traces_stack(runs->traces, stack, &count);
		if (frame_kinds & GMT_FRAME_KIND_BIT(BACKWARD) ||
			!gmt_traces_has_python(runs->traces, stack)) {
			*kind = NEUTRAL;
		} else if (frame_kinds &
				(GMT_FRAME_KIND_BIT(OPTIMIZER) | GMT_FRAME_KIND_BIT(CLOSURE) |
					GMT_FRAME_KIND_BIT(BACKWARD_CALL)) ||
			!find_call(runs, places, count, &at)) {
			*kind = OUTSIDE;
		} else {
			if (!context_of(runs, places + at, count - at, &context) ||
				!gmt_loop_paths_get(&runs->paths, stack,
					&runs->contexts.items[context].path_plus_1))
				return false;
			*kind = FIRST_CONTEXT + context;
		}
	}
	*ret_kind = *kind;
	return true;
}

/*
 * Returns event number `index` if it is an event of PyTorch's blocks before the end of the work,
 * else NULL. With PyTorch's backend cudaMallocAsync, these are the driver's events.
 */
static const struct gmt_recording_event *counted_event(struct gmt_module_runs *runs, size_t index,
	bool with_frees)
{
	const struct gmt_recording_event *event = gmt_events_at(&runs->reader, index);

	return (event->kind == GMT_KIND_ALLOC || (with_frees && event->kind == GMT_KIND_FREE)) &&
			(event->layer == GMT_LAYER_TORCH || event->space == GMT_SPACE_POOL) &&
			event->stamp <= runs->work_end
		? event
		: NULL;
}

/* Counts an event in a step of `main`: a call, or the backward pass of the previous call. */
static void count_in_step(struct gmt_module_runs *runs, uint32_t kind, uint32_t frame_kinds,
	uint32_t step, uint32_t *last_context_plus_1)
{
	struct gmt_module_context *context;

	if (kind >= FIRST_CONTEXT) {
		*last_context_plus_1 = kind - FIRST_CONTEXT + 1;
		context = &runs->contexts.items[kind - FIRST_CONTEXT];
		context->step_count += context->last_step != step + 1;
		context->last_step = step + 1;
	} else if (*last_context_plus_1 &&
		frame_kinds & (GMT_FRAME_KIND_BIT(BACKWARD) | GMT_FRAME_KIND_BIT(BACKWARD_CALL))) {
		context = &runs->contexts.items[*last_context_plus_1 - 1];
		context->backward_count += context->last_backward != step + 1;
		context->last_backward = step + 1;
	}
}

/* Counts in how many steps of `main` each context occurs, and is followed by a backward pass. */
static bool count_contexts(struct gmt_module_runs *runs)
{
	uint32_t step = 0, kind, last_context_plus_1 = 0;

	for (size_t i = 0; i < runs->recording->events.count; i++) {
		const struct gmt_recording_event *event = counted_event(runs, i, false);

		if (!event)
			continue;

		uint32_t stack = runs->traces->stack_of_trace[event->trace];
		if (!kind_of(runs, stack, &kind))
			return false;
		if (runs->main && gmt_series_find_next(runs->main, event->stamp, &step))
			count_in_step(runs, kind, runs->traces->stack_frame_kinds.items[stack], step,
				&last_context_plus_1);
	}
	for (size_t i = 0; i < runs->contexts.count; i++) {
		struct gmt_module_context *context = &runs->contexts.items[i];

		context->is_evaluation = !runs->main ||
			(context->step_count < (runs->main->steps.count + 1) / 2 &&
				context->backward_count * 2 <= context->step_count);
	}
	return true;
}

static bool open_run(struct gmt_module_runs *runs, uint32_t thread, uint32_t context,
	uint64_t *ret_run)
{
	struct gmt_module_run *run = gmt_vec_push(&runs->runs);
	uint64_t *frees = gmt_vec_push(&runs->frees_of);

	if (!run || !frees)
		return false;
	*run = (struct gmt_module_run){ .context = context };
	*frees = 0;
	runs->contexts.items[context].run_count++;
	*ret_run = runs->runs.count;
	return gmt_map_put(&runs->open_runs, thread, *ret_run);
}

/* Returns the current run of a thread, plus 1; 0 if the thread is outside of calls. */
static uint64_t run_of_thread(const struct gmt_module_runs *runs, uint32_t thread)
{
	uint64_t run = 0;

	gmt_map_find(&runs->open_runs, thread, &run);
	return run;
}

static bool add_to_run(struct gmt_module_runs *runs, const struct gmt_recording_event *event,
	uint32_t context)
{
	uint64_t run = run_of_thread(runs, event->thread);

	if ((!run || runs->runs.items[run - 1].context != context) &&
		!open_run(runs, event->thread, context, &run))
		return false;

	struct gmt_module_token *token = gmt_vec_push(&runs->tokens);
	uint32_t *owner = gmt_vec_push(&runs->run_of), *number = gmt_vec_push(&runs->number_of);
	if (!token || !owner || !number)
		return false;
	*token = (struct gmt_module_token){
		.stamp = event->stamp,
		.size_bytes = event->size_bytes,
		.frees = runs->frees_of.items[run - 1],
		.stack = runs->traces->stack_of_trace[event->trace],
	};
	runs->frees_of.items[run - 1] = 0;
	*owner = (uint32_t)run - 1;
	*number = (uint32_t)runs->runs.items[run - 1].count++;
	return gmt_map_put(&runs->live, event->address, runs->tokens.count - 1);
}

/*
 * Notes that a run frees one of its own blocks. These frees show where calls end: equal layers free
 * each other's blocks, but a call frees the result of the previous call.
 */
static void note_free(struct gmt_module_runs *runs, const struct gmt_recording_event *event)
{
	uint64_t token, run = run_of_thread(runs, event->thread);

	if (!gmt_map_remove(&runs->live, event->address, &token) || !run ||
		runs->run_of.items[token] != run - 1)
		return;
	/* A sum, so the order of the frees does not matter. */
	runs->frees_of.items[run - 1] +=
		gmt_hash_u64(runs->runs.items[run - 1].count - runs->number_of.items[token]);
}

/*
 * Returns whether a stack goes through the function that calls the modules of a context: through
 * the same call of that function, or another call from the same line.
 */
static bool is_of_caller(struct gmt_module_runs *runs, uint32_t path_plus_1,
	const struct gmt_module_context *context)
{
	const struct gmt_loop_path *path, *caller;

	if (!context->path_plus_1 || !path_plus_1)
		return false;
	path = &runs->paths.paths.items[path_plus_1 - 1];
	caller = &runs->paths.paths.items[context->path_plus_1 - 1];
	return path->count >= caller->count &&
		runs->paths.levels.items[path->first + caller->count - 1].node ==
		runs->paths.levels.items[caller->first + caller->count - 1].node;
}

static bool close_run(struct gmt_module_runs *runs, uint32_t thread, uint32_t stack)
{
	uint64_t run = run_of_thread(runs, thread);
	uint32_t path_plus_1;

	if (!run)
		return true;
	if (!gmt_loop_paths_get(&runs->paths, stack, &path_plus_1))
		return false;

	struct gmt_module_context *context = &runs->contexts.items[runs->runs.items[run - 1].context];
	context->separated_count += is_of_caller(runs, path_plus_1, context);
	return gmt_map_put(&runs->open_runs, thread, 0);
}

static bool collect_event(struct gmt_module_runs *runs, const struct gmt_recording_event *event)
{
	uint32_t stack, kind;

	if (event->kind == GMT_KIND_FREE) {
		note_free(runs, event);
		return true;
	}
	stack = runs->traces->stack_of_trace[event->trace];
	if (!kind_of(runs, stack, &kind))
		return false;
	if (kind == NEUTRAL)
		return true;
	if (kind == OUTSIDE || !runs->contexts.items[kind - FIRST_CONTEXT].is_evaluation)
		return close_run(runs, event->thread, stack);
	return add_to_run(runs, event, kind - FIRST_CONTEXT);
}

static bool collect_runs(struct gmt_module_runs *runs)
{
	uint32_t evaluations = 0;

	for (size_t i = 0; i < runs->contexts.count; i++)
		evaluations += runs->contexts.items[i].is_evaluation;
	/* Without evaluation there is nothing to collect, as in most training loops. */
	for (size_t i = 0; evaluations && i < runs->recording->events.count; i++) {
		const struct gmt_recording_event *event = counted_event(runs, i, true);

		if (event && !collect_event(runs, event))
			return false;
	}
	return true;
}

/* Moves the tokens of each run next to each other, in order. */
static bool sort_tokens(struct gmt_module_runs *runs)
{
	GMT_VEC(struct gmt_module_token) sorted = { 0 };
	size_t first = 0;

	if (!gmt_vec_reserve(&sorted, runs->tokens.count))
		return false;
	for (size_t r = 0; r < runs->runs.count; r++) {
		runs->runs.items[r].first = first;
		first += runs->runs.items[r].count;
		runs->runs.items[r].count = 0;
	}
	for (size_t t = 0; t < runs->tokens.count; t++) {
		struct gmt_module_run *run = &runs->runs.items[runs->run_of.items[t]];

		sorted.items[run->first + run->count++] = runs->tokens.items[t];
	}
	gmt_vec_fini(&runs->tokens);
	runs->tokens.items = sorted.items;
	runs->tokens.count = first;
	runs->tokens.capacity = sorted.capacity;
	return true;
}

/*
 * Returns whether module calls are possible: events of such blocks, and a stack with a module call.
 */
static bool has_calls(const struct gmt_recording *recording, const struct gmt_traces *traces)
{
	if (!recording->has_torch && !recording->has_pool)
		return false;
	for (size_t i = 0; i < traces->stacks.entries.count; i++)
		if (traces->stack_frame_kinds.items[i] & GMT_FRAME_KIND_BIT(MODULE_CALL))
			return true;
	return false;
}

bool gmt_module_runs_collect(struct gmt_module_runs *runs)
{
	if (!has_calls(runs->recording, runs->traces))
		return true;
	/* stack_kinds is all zeros and indexed by stack. Nothing is pushed to it. */
	return gmt_events_reader_init(&runs->reader, &runs->recording->events,
			   GMT_EVENTS_STAMP | GMT_EVENTS_ADDRESS | GMT_EVENTS_SIZE | GMT_EVENTS_TRACE) &&
		gmt_loop_paths_init(&runs->paths, runs->traces) &&
		gmt_vec_reserve(&runs->stack_kinds, runs->traces->stacks.entries.count + 1) &&
		count_contexts(runs) && collect_runs(runs) && sort_tokens(runs);
}

void gmt_module_runs_fini(struct gmt_module_runs *runs)
{
	gmt_events_reader_fini(&runs->reader);
	gmt_loop_paths_fini(&runs->paths);
	gmt_vec_fini(&runs->stack_kinds);
	gmt_map_fini(&runs->context_ids);
	gmt_vec_fini(&runs->contexts);
	gmt_map_fini(&runs->open_runs);
	gmt_map_fini(&runs->live);
	gmt_vec_fini(&runs->runs);
	gmt_vec_fini(&runs->tokens);
	gmt_vec_fini(&runs->run_of);
	gmt_vec_fini(&runs->number_of);
	gmt_vec_fini(&runs->frees_of);
}
