/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STACKS_TRACES_MERGER_H
#define GMT_READER_STACKS_TRACES_MERGER_H

/*
 * Shared by traces.c (resolves addresses and stores stacks), traces_merge.c (merges two stacks) and
 * traces_optimizer_closure.c. Internal to them.
 */

#include "reader/symbols/symbols.h"
#include "reader/stacks/traces.h"

/*
 * No recorder writes deeper stacks. Deeper stacks are cut, so that a hostile file does not cost
 * more than its size.
 */
enum { GMT_TRACES_DEPTH_MAX = 1024 };

/* A resolved native address. */
struct gmt_traces_resolved {
	uint32_t first; /* index in `resolved_places` */
	uint16_t count;
	bool is_eval;      /* a frame of the interpreter's loop */
	bool is_python;    /* in a file that contains only the interpreter */
	uint32_t module_plus_1; /* index in the recording */
};

/*
 * A Python frame of the current trace. `is_entry`: a run of the interpreter's loop begins with this
 * frame.
 */
struct gmt_traces_python {
	uint32_t place;
	bool is_entry;
};

/* State while the traces of a recording are merged. The strings and places are in `traces`. */
struct gmt_traces_merger {
	struct gmt_traces *traces;
	const struct gmt_recording *recording;
	struct gmt_symbols *symbols;
	enum gmt_traces_native native;
	struct gmt_intern addresses; /* key: generation and address; ids are indexes in `resolved` */
	GMT_VEC(struct gmt_traces_resolved) resolved;
	GMT_VEC(uint32_t) resolved_places;
	GMT_VEC(bool) module_has_eval; /* by index in the recording */
	struct gmt_map python_places;  /* from frame id to place */
	GMT_VEC(struct gmt_traces_python) python; /* frames of the current trace, leaf first */
	/* of the current trace: index of the first frame after the last gap; SIZE_MAX: no gap */
	size_t outer_at;
	/* of the current trace: entries from outer_at on that are not yet in `merged` */
	size_t outer_runs;
	GMT_VEC(uint32_t) merged;
	GMT_VEC(uint8_t) closure_kinds; /* for each place: cached by traces_optimizer_closure.c */
	uint32_t frame_kinds; /* of the current trace */
	struct gmt_owner_walk owner; /* of the current trace */
};

static inline uint32_t gmt_traces_depth(const struct gmt_list *list)
{
	return list->count < GMT_TRACES_DEPTH_MAX ? list->count : GMT_TRACES_DEPTH_MAX;
}

/*
 * Resolves a native address. Sets *ret_id to its index in `resolved`. Returns false when out of
 * memory.
 */
bool gmt_traces_resolve(struct gmt_traces_merger *merger, uint32_t generation, uint64_t address,
	uint32_t *ret_id);

/*
 * Makes the place of a pseudo frame with this text, which stands for missing frames. Returns false
 * when out of memory.
 */
bool gmt_traces_mark_place(struct gmt_traces_merger *merger, const char *text, uint32_t *ret_place);

/*
 * Makes the place of a Python frame. A frame or function that the file lacks becomes "<unknown>".
 * Returns false when out of memory.
 */
bool gmt_traces_python_place(struct gmt_traces_merger *merger, uint32_t frame_id,
	uint32_t *ret_place);

/*
 * Returns whether an optimizer made the allocation itself, not a closure that it called. `at` is
 * the index in `python` of a frame in one of PyTorch's optimizer files.
 */
bool gmt_traces_is_by_optimizer(struct gmt_traces_merger *merger, size_t at);

/*
 * Merges `stack` and `frames` into merger->merged, and appends `caller`, the Python frames of the
 * thread that called the backward pass. Also sets frame_kinds and owner. Each stack may be NULL.
 * Returns false when out of memory.
 */
bool gmt_traces_merge(struct gmt_traces_merger *merger, const struct gmt_stack *stack,
	const struct gmt_frames *frames, const struct gmt_frames *caller);

/* Resolves all native addresses of all stacks. */
bool gmt_traces_resolve_all(struct gmt_traces_merger *merger);

#endif
