/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STACKS_TRACES_PARTS_H
#define GMT_READER_STACKS_TRACES_PARTS_H

/* What traces.c, which looks up and keeps, and traces_merge.c, which puts two stacks together, share. Internal to both. */

#include "reader/symbols/symbols.h"
#include "reader/stacks/traces.h"

/* Deeper stacks than any recorder writes are cut: a hostile file must not cost more than it holds. */
enum { GMT_TRACES_DEPTH_MAX = 1024 };

/* A native address, looked up. */
struct gmt_traces_resolved {
	uint32_t first; /* index in `resolved_places` */
	uint16_t count;
	bool is_eval;      /* the interpreter's loop */
	bool is_python;    /* in a file that is the interpreter and nothing else */
	uint32_t module_plus_1; /* index in the snapshot */
};

/* A Python frame of the stack at hand. */
struct gmt_traces_python {
	uint32_t place;
	bool is_entry;
};

/* What is known while the traces of a snapshot are made. Once; the strings and places are those of `traces`. */
struct gmt_traces_merger {
	struct gmt_traces *traces;
	const struct gmt_snapshot *snapshot;
	struct gmt_symbols *symbols;
	enum gmt_traces_native native;
	struct gmt_intern addresses; /* generation and address; ids are indices in `resolved` */
	GMT_VEC(struct gmt_traces_resolved) resolved;
	GMT_VEC(uint32_t) resolved_places;
	GMT_VEC(bool) module_has_eval; /* by index in the snapshot */
	struct gmt_map python_places;  /* frame id to place */
	GMT_VEC(struct gmt_traces_python) python; /* of the trace at hand, leaf first */
	size_t outer_at; /* likewise: the first behind the last gap; SIZE_MAX when there is none */
	size_t outer_runs; /* likewise: entries from there on that are not yet in `merged` */
	GMT_VEC(uint32_t) merged;
	GMT_VEC(uint8_t) closure_kinds; /* by place: what traces_closure.c knows of it */
	uint32_t frame_kinds; /* of the trace at hand */
	struct gmt_owner_walk owner; /* likewise */
};

static inline uint32_t gmt_traces_depth(const struct gmt_list *list)
{
	return list->count < GMT_TRACES_DEPTH_MAX ? list->count : GMT_TRACES_DEPTH_MAX;
}

/* All of these are false when there is no memory. A native address, as an index of `resolved`. */
bool gmt_traces_resolve(struct gmt_traces_merger *merger, uint32_t generation, uint64_t address, uint32_t *ret_id);

/* A frame's place that says what is known of frames that are not there. */
bool gmt_traces_mark_place(struct gmt_traces_merger *merger, const char *text, uint32_t *ret_place);

/* The place of a Python frame; a frame or function that the file lacks is shown as such. */
bool gmt_traces_python_place(struct gmt_traces_merger *merger, uint32_t frame_id, uint32_t *ret_place);

/* Whether the Python frame number `at` of the stack at hand, which is of one of PyTorch's optimizers, runs no closure. */
bool gmt_traces_is_by_optimizer(struct gmt_traces_merger *merger, size_t at);

/*
 * Fills merger->merged, landmarks and owner: `stack` and `frames` as one, and behind them those of `caller`, who called the
 * backward pass. Each may be NULL.
 */
bool gmt_traces_merge(struct gmt_traces_merger *merger, const struct gmt_stack *stack, const struct gmt_frames *frames,
	const struct gmt_frames *caller);

#endif
