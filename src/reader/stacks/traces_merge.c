/* SPDX-License-Identifier: MIT */
#include "reader/stacks/traces_merger.h"

#include <string.h>

#include "reader/symbols/symbols_elf.h"

/* Lists a pseudo frame in place of missing Python frames. */
static bool list_mark(struct gmt_traces_merger *merger)
{
	struct gmt_traces_python *slot = gmt_vec_push(&merger->python);

	if (!slot || !gmt_traces_mark_place(merger, GMT_TRACES_LEFT_OUT, &slot->place))
		return false;
	slot->is_entry = false;
	return true;
}

/*
 * Returns whether an optimizer called a closure. `frame_kinds` are the kinds of the frames from the
 * leaf up to a frame of the optimizer.
 */
static bool is_in_closure(uint32_t frame_kinds)
{
	return frame_kinds &
		(GMT_FRAME_KIND_BIT(MODULE_CALL) | GMT_FRAME_KIND_BIT(BACKWARD_CALL) |
			GMT_FRAME_KIND_BIT(LOSS));
}

/*
 * Adds the frame kinds of the Python frame that was listed last. Code that an optimizer calls back
 * is not part of the optimizer's step.
 */
static void add_frame_kinds(struct gmt_traces_merger *merger, bool *has_optimizer)
{
	size_t at = merger->python.count - 1;
	uint32_t frame_kinds = merger->traces->place_frame_kinds.items[merger->python.items[at].place];

	/* The innermost optimizer decides. Optimizers further out only call it. */
	if (frame_kinds & GMT_FRAME_KIND_BIT(OPTIMIZER)) {
		bool is_inner = *has_optimizer || is_in_closure(merger->frame_kinds);

		if (is_inner || !gmt_traces_is_by_optimizer(merger, at))
			frame_kinds = (frame_kinds & ~GMT_FRAME_KIND_BIT(OPTIMIZER)) |
				(is_inner ? 0 : GMT_FRAME_KIND_BIT(CLOSURE));
		*has_optimizer = true;
	}
	merger->frame_kinds |= frame_kinds;
}

/*
 * Gets the place of a frame. Sets *ret_is_hidden for a native frame of an import that the merged
 * stack does not keep.
 */
static bool find_python_place(struct gmt_traces_merger *merger, uint32_t frame, bool has_python,
	uint32_t *ret_place, bool *ret_is_hidden)
{
	const struct gmt_place *place;
	const char *function;

	*ret_is_hidden = false;
	if (!gmt_traces_python_place(merger, frame, ret_place))
		return false;
	place = gmt_traces_place(merger->traces, *ret_place);
	function = gmt_traces_string(merger->traces, place->function);
	*ret_is_hidden = has_python && place->kind == GMT_PLACE_NATIVE &&
		merger->native != GMT_TRACES_ALL &&
		(merger->native == GMT_TRACES_NONE || strncmp(function, "_Py", 3) == 0 ||
			strncmp(function, "Py", 2) == 0 ||
			gmt_symbols_elf_is_python(gmt_traces_string(merger->traces, place->module)));
	return true;
}

/* Finds whether a stack has a Python frame. Only stacks of imports may have none. */
static bool find_whether_has_python(struct gmt_traces_merger *merger,
	const struct gmt_frames *frames, bool *ret_has)
{
	uint32_t place;

	*ret_has = !gmt_recording_is_imported(merger->recording);
	for (uint32_t i = 0; !*ret_has && i < gmt_traces_depth(&frames->items); i++) {
		uint64_t item = frames->items.items[i];

		if (item && !gmt_traces_python_place(merger, (uint32_t)(item >> 1), &place))
			return false;
		*ret_has = item && gmt_traces_place(merger->traces, place)->kind == GMT_PLACE_PYTHON;
	}
	return true;
}

static bool list_python(struct gmt_traces_merger *merger, const struct gmt_frames *frames)
{
	bool has_optimizer = false, has_python = false, is_hidden;

	merger->python.count = 0;
	merger->outer_at = SIZE_MAX;
	merger->outer_runs = 0;
	if (frames && !find_whether_has_python(merger, frames, &has_python))
		return false;
	for (uint32_t i = 0; frames && i < gmt_traces_depth(&frames->items); i++) {
		uint64_t item = frames->items.items[i];
		struct gmt_traces_python *slot;

		if (!item) {
			if (!list_mark(merger))
				return false;
			merger->outer_at = merger->python.count;
			merger->outer_runs = 0;
			continue;
		}
		slot = gmt_vec_push(&merger->python);
		if (!slot ||
			!find_python_place(merger, (uint32_t)(item >> 1), has_python, &slot->place, &is_hidden))
			return false;
		slot->is_entry = item & 1;
		add_frame_kinds(merger, &has_optimizer);
		merger->outer_runs += slot->is_entry;
		merger->python.count -= is_hidden;
	}
	return !frames || !frames->truncated || list_mark(merger);
}

/* Returns whether Python frames are missing in the middle. */
static bool has_gap(const struct gmt_traces_merger *merger)
{
	return merger->outer_at <= merger->python.count;
}

static void visit_owners(struct gmt_traces_merger *merger, const uint32_t *places, size_t count)
{
	for (size_t i = 0; i < count; i++)
		gmt_owners_visit(&merger->traces->owners, &merger->owner, places[i]);
}

static bool append(struct gmt_traces_merger *merger, const uint32_t *places, size_t count)
{
	if (!gmt_vec_reserve(&merger->merged, count))
		return false;
	visit_owners(merger, places, count);
	if (count)
		memcpy(merger->merged.items + merger->merged.count, places, count * sizeof(*places));
	merger->merged.count += count;
	return true;
}

/* Counts the runs of the interpreter's loop in the Python frames from index `at` on. */
static size_t count_runs(const struct gmt_traces_merger *merger, size_t at)
{
	size_t runs = 0;

	for (; at < merger->python.count; at++)
		runs += merger->python.items[at].is_entry;
	return runs;
}

/*
 * Appends the Python frames from index `*at` up to `end`, or only up to and including the next
 * entry.
 */
static bool append_python(struct gmt_traces_merger *merger, size_t *at, size_t end, bool to_end)
{
	bool is_entry = false;

	while (*at < end && (to_end || !is_entry)) {
		const struct gmt_traces_python *frame = &merger->python.items[(*at)++];

		is_entry = frame->is_entry;
		if (!append(merger, &frame->place, 1))
			return false;
	}
	return true;
}

/*
 * Appends the Python frames that one native frame of the interpreter's loop ran. `evals` is the
 * number of loop frames from this one outward, or UINT64_MAX if unknown. After a gap, the Python
 * frames belong to the outermost loop frames. The frames that other loop frames ran are missing.
 */
static bool append_run(struct gmt_traces_merger *merger, size_t *at, uint64_t evals)
{
	size_t end = merger->python.count;

	if (!has_gap(merger))
		return append_python(merger, at, end, false);
	if (*at < merger->outer_at) {
		/*
		 * This includes the pseudo frame of the gap, if the run reaches it. The run may continue
		 * after the gap.
		 */
		if (!append_python(merger, at, merger->outer_at, false))
			return false;
		if (*at < merger->outer_at)
			return true;
	}
	if (evals > merger->outer_runs)
		return true;
	merger->outer_runs -= merger->outer_runs != 0;
	return append_python(merger, at, end, false);
}

static bool is_internal(const struct gmt_traces_merger *merger,
	const struct gmt_traces_resolved *resolved)
{
	if (resolved->is_python || resolved->is_eval)
		return true;
	if (!resolved->module_plus_1 || !merger->module_has_eval.items[resolved->module_plus_1 - 1])
		return false;

	/* The interpreter is linked into a program: hide only the interpreter's own functions. */
	uint32_t outer = merger->resolved_places.items[resolved->first + resolved->count - 1];
	const struct gmt_place *place = gmt_traces_place(merger->traces, outer);
	const char *function = gmt_traces_string(merger->traces, place->function);
	return strncmp(function, "_Py", 3) == 0 || strncmp(function, "Py", 2) == 0;
}

/*
 * Appends a pseudo frame in place of missing native frames. A pseudo frame for missing Python
 * frames at the same position is not repeated.
 */
static bool append_mark(struct gmt_traces_merger *merger, const char *text)
{
	size_t count = merger->merged.count;
	uint32_t place;

	if (merger->python.count && merger->native == GMT_TRACES_NONE)
		return true;
	return gmt_traces_mark_place(merger, text, &place) &&
		((count && merger->merged.items[count - 1] == place) || append(merger, &place, 1));
}

/*
 * Counts the frames of the interpreter's loop from index `at` on. UINT64_MAX: some frames there are
 * missing.
 */
static bool count_evals(struct gmt_traces_merger *merger, const struct gmt_stack *stack,
	uint32_t at, uint64_t *ret_count)
{
	uint32_t id;

	*ret_count = stack && stack->truncated ? UINT64_MAX : 0;
	for (uint32_t i = at; stack && !stack->truncated && i < gmt_traces_depth(&stack->items); i++) {
		if (!stack->items.items[i]) {
			*ret_count = UINT64_MAX;
			return true;
		}
		if (!gmt_traces_resolve(merger, stack->generation, stack->items.items[i], &id))
			return false;
		*ret_count += merger->resolved.items[id].is_eval;
	}
	return true;
}

/*
 * Appends the Python frames of a gap in the native frames. `evals` loop frames follow the gap. The
 * outermost Python runs belong to those, one run each. All other Python frames belong in the gap.
 */
static bool append_gap(struct gmt_traces_merger *merger, uint64_t evals,
	const struct gmt_frames *frames, size_t *python_at)
{
	size_t end = merger->python.count;

	/*
	 * If the Python stack was cut, its outermost frames are missing, so runs cannot be counted from
	 * there.
	 */
	if (frames && frames->truncated)
		return append_python(merger, python_at, end, true) &&
			append_mark(merger, GMT_TRACES_LEFT_OUT);
	if (has_gap(merger) && !append_python(merger, python_at, merger->outer_at, true))
		return false;
	for (size_t runs = count_runs(merger, *python_at); runs > evals; runs--)
		if (!append_python(merger, python_at, end, false))
			return false;
	return append_mark(merger, GMT_TRACES_LEFT_OUT);
}

/* Merges two stacks into merger->merged. Each may be NULL. */
static bool merge(struct gmt_traces_merger *merger, const struct gmt_stack *stack,
	const struct gmt_frames *frames)
{
	bool has_python = merger->python.count != 0;
	bool trims = has_python && merger->native != GMT_TRACES_ALL;
	size_t python_at = 0;
	uint64_t unmatched = 0, evals = 0, evals_left = 0;

	merger->merged.count = 0;
	if (has_gap(merger) && !count_evals(merger, stack, 0, &evals_left))
		return false;
	for (uint32_t i = 0; stack && i < gmt_traces_depth(&stack->items); i++) {
		uint32_t id;

		if (!stack->items.items[i]) {
			if (!count_evals(merger, stack, i + 1, &evals_left) ||
				!append_gap(merger, evals_left, frames, &python_at))
				return false;
			continue;
		}
		if (!gmt_traces_resolve(merger, stack->generation, stack->items.items[i], &id))
			return false;

		const struct gmt_traces_resolved *resolved = &merger->resolved.items[id];
		for (uint32_t place = 0; place < resolved->count; place++)
			merger->frame_kinds |=
				merger->traces->place_frame_kinds
					.items[merger->resolved_places.items[resolved->first + place]];
		evals += resolved->is_eval;
		if (has_python && resolved->is_eval && python_at < merger->python.count) {
			if (!append_run(merger, &python_at, evals_left))
				return false;
			evals_left -= evals_left != UINT64_MAX;
			continue;
		}
		if (has_python && resolved->is_eval && !frames->truncated)
			unmatched++;
		else if (trims && (merger->native == GMT_TRACES_NONE || is_internal(merger, resolved))) {
			visit_owners(merger, gmt_vec_at(&merger->resolved_places, resolved->first),
				resolved->count);
			continue;
		}
		if (!append(merger, gmt_vec_at(&merger->resolved_places, resolved->first), resolved->count))
			return false;
	}
	/*
	 * Python frames are left over. If the native stack was cut, they lie further out, where they
	 * are appended. Without symbols of the interpreter, appending is the best choice. In other
	 * cases, the two stacks do not fit together.
	 */
	if (stack && !stack->truncated && evals)
		unmatched += merger->python.count - python_at;
	merger->traces->mismatches += unmatched != 0;
	if (!append_python(merger, &python_at, merger->python.count, true))
		return false;
	return !stack || !stack->truncated ||
		append_mark(merger,
			stack->truncated == GMT_STACK_STOPPED ? GMT_TRACES_STOPPED : GMT_TRACES_LEFT_OUT);
}

/*
 * Appends the Python frames of the thread that called the backward pass, from that call outward.
 * The frames inside the call only prepared the pass.
 */
static bool append_caller(struct gmt_traces_merger *merger, const struct gmt_frames *frames)
{
	size_t from = 0;

	if (!frames)
		return true;

	uint32_t own = merger->frame_kinds;
	if (!list_python(merger, frames))
		return false;
	/*
	 * The caller's module is not a module of this stack. But the caller shows that this stack
	 * belongs to a backward pass.
	 */
	merger->frame_kinds = own | GMT_FRAME_KIND_BIT(BACKWARD);
	for (size_t i = 0; i < merger->python.count; i++)
		if (merger->traces->place_frame_kinds.items[merger->python.items[i].place] &
			GMT_FRAME_KIND_BIT(BACKWARD_CALL))
			from = i;
	return append_python(merger, &from, merger->python.count, true);
}

bool gmt_traces_merge(struct gmt_traces_merger *merger, const struct gmt_stack *stack,
	const struct gmt_frames *frames, const struct gmt_frames *caller)
{
	return list_python(merger, frames) && merge(merger, stack, frames) &&
		append_caller(merger, caller);
}
