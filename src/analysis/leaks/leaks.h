/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAKS_LEAKS_H
#define GMT_ANALYSIS_LEAKS_LEAKS_H

/*
 * Finds leaks. Each finding has a named definition and its evidence. A finding is about one own
 * line of the user that allocated what is retained (gmt_traces_own_line), in one layer and space on
 * one device.
 *
 *   growth       A line keeps more and more: the least that it holds from a step on rises, up to
 *                the last steps (rise.h, leak_growth.c).
 *   unexplained  In one layer, space and device, no single line explains why memory rises: the
 *                lines that neither grow nor rise for a known benign cause keep more and more
 *                together (leak_unexplained.c). Such a finding has no stack.
 *   phase        Blocks made in a phase that the program marked, and alive when the last phase or
 *                step is over. If a stack made several blocks, its newest block does not count: it
 *                is a variable that the next pass would replace. Blocks that may live as long as
 *                the model do not count either: parameters, buffers, gradients, temporaries of the
 *                backward pass, optimizer state and workspaces.
 *   age          Blocks that are older than a given number of steps or seconds at the end of the
 *                program's work. Blocks that may live as long as the model do not count here
 *                either.
 *   exit         Blocks that live at the end of the program's work.
 *
 * The order of this list decides: a line is reported by the first definition that fits. Findings of
 * `unexplained` are not about a line. Segments of PyTorch's allocator and arenas of other libraries
 * are never findings; `arenas` lists the arenas. Definition exit does not judge PyTorch's pinned
 * host memory and what CUDA's libraries hold (see with_libraries). By default it does not judge
 * tensors of PyTorch and arrays of other frameworks either (also in their own heap).
 *
 * In a compacted recording, a definition judges only what the remaining events and the compacted
 * prefix are sufficient for. The leaks say what was not judged, and why (leak_compacted.c).
 * Findings in a compacted recording are still true: they rest on data that is known.
 *
 * Memory that PyTorch's allocators hold for reuse is not a leak; `cached` holds its size. Without
 * `definitions`, layer torch is judged by growth and phase, and all other layers by growth, phase
 * and exit.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/allocator/arenas.h"
#include "analysis/history/history.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/steps/timeline.h"
#include "reader/stacks/traces.h"

enum gmt_leak_definition {
#define GMT_LEAK_DEFINITION(NAME, name, meaning) GMT_LEAK_##NAME,
#include "analysis/leaks/leak_definitions.def"
#undef GMT_LEAK_DEFINITION
	GMT_LEAK_DEFINITIONS,
};

/* The kind of evidence that a finding of growth rests on. */
enum gmt_leak_reason {
#define GMT_LEAK_REASON(NAME, name, right, all, words) GMT_LEAK_REASON_##NAME,
#include "analysis/leaks/leak_reasons.def"
#undef GMT_LEAK_REASON
};

/* Definitions that judge curves over steps. */
#define GMT_LEAK_BY_STEPS (1u << GMT_LEAK_GROWTH | 1u << GMT_LEAK_UNEXPLAINED)

/* Value of gmt_leak.stack for a finding without a stack. */
#define GMT_LEAK_NO_STACK UINT32_MAX

enum { GMT_LEAK_LINES = 5 }; /* most lines in a list of lines */

/* Blocks that still live, by the steps that made them. */
struct gmt_leak_attribution {
	uint32_t first_step, last_step; /* step numbers in the finding's series */
	uint64_t bytes, blocks;
};

/* A line of the program, and by how much it rose. */
struct gmt_leak_line {
	uint32_t layer;
	int32_t device;
	uint32_t space;
	uint32_t stack;    /* stack of the site that rose most */
	uint32_t own_line; /* index of a frame in `stack` */
	uint64_t bytes;
};

/* A stack that made blocks of a finding. */
struct gmt_leak_stack {
	uint32_t stack;
	uint32_t own_line; /* index of a frame in `stack` */
	uint64_t bytes, blocks;
};

struct gmt_leak {
	enum gmt_leak_definition definition;
	uint32_t group; /* number among the judged groups; UINT32_MAX: no group */
	uint32_t layer;
	int32_t device; /* GMT_DEVICE_HOST: host memory */
	uint32_t space;
	/* Id in traces->stacks, of the group's largest site. Or GMT_LEAK_NO_STACK. */
	uint32_t stack;
	uint32_t own_line; /* index of a frame in `stack` */
	uint32_t category; /* enum gmt_category of that site. */
	uint32_t frame_kinds; /* bits of reader/stacks/frame_kinds.h, of all stacks in the group */
	/* Retained. For `unexplained`: the bytes by which it rose, and 0 blocks. */
	uint64_t bytes, blocks;
	uint32_t sites;    /* number of stacks in the group; for `unexplained`: 0 */
	/* The stacks with most bytes, at most GMT_LEAK_LINES. The first one is `stack`. */
	GMT_VEC(struct gmt_leak_stack) stacks;
	/* The fields below are for definitions growth and unexplained. */
	double bytes_per_step; /* below 0: unknown */
	enum gmt_leak_reason reason;
	/* 0..1: how often findings with this reason were right. Below 0: unknown. */
	double confidence;
	/* A larger block replaces the previous block. Otherwise more blocks remain. */
	bool replaced;
	uint32_t series;       /* index in timeline->series: how steps are counted */
	uint32_t first_step;   /* first step that left something */
	uint32_t steps;        /* number of steps that were judged, without the warm-up */
	uint64_t steps_to_oom; /* UINT64_MAX: unknown, or never */
	GMT_VEC(struct gmt_leak_attribution) attribution; /* for growth */
	/* For unexplained: the lines that rose most, the largest first. */
	GMT_VEC(struct gmt_leak_line) rose_most;
	/*
	 * For growth: lines with one block that grows in proportion with this one (leak_followers.c).
	 */
	GMT_VEC(struct gmt_leak_line) followers;
	/* For layer custom: name of the heap of its largest site. Otherwise NULL. */
	const char *heap;
	const char *phase;     /* for definition phase: name of the phase; otherwise NULL */
	const char *hint;      /* the usual cause that fits the evidence; NULL: no cause fits */
	/*
	 * Stack, + 1, that freed another block of the largest site, if frees have stacks. 0: unknown.
	 */
	uint32_t freed_stack_plus_1;
};

/* Memory that a caching allocator holds without a live block in it. */
struct gmt_leak_cached {
	int32_t device;
	uint64_t bytes;
};

struct gmt_leaks_options {
	uint32_t definitions;  /* bits by enum gmt_leak_definition; 0: the default above */
	uint32_t warmup_steps; /* UINT32_MAX: a fifth of the steps, from 1 to 10 */
	uint32_t age_steps;    /* UINT32_MAX: no limit in steps */
	uint64_t age_ns;       /* UINT64_MAX: no limit in time */
	/* Definition exit also judges what CUDA's libraries and PyTorch's pinned cache hold. */
	bool with_libraries;
};

struct gmt_leaks {
	GMT_VEC(struct gmt_leak) rows; /* strongest first */
	GMT_VEC(struct gmt_leak_cached) cached;
	struct gmt_arenas arenas;
	/* Lines that rose but do not grow: the largest first, at most GMT_LEAK_LINES. */
	GMT_VEC(struct gmt_leak_line) given_back; /* came down again */
	GMT_VEC(struct gmt_leak_line) levels_off; /* rise more and more slowly */
	const char *why_growth_not_judged; /* NULL: growth was judged */
	const char *why_phases_not_judged; /* the same for definition phase */
	const char *why_end_not_judged;    /* the same for definitions age and exit */
	/* Some definition was not judged because its events are in totals only. */
	bool is_compacted_away;
};

/*
 * Finds the leaks. `history` must have observed `replay`, and the replay must have reached the end.
 * Fails only for lack of memory. `ret_leaks` must be zeroed. The caller owns it and ends it with
 * gmt_leaks_fini.
 */
enum gmt_status gmt_leaks_compute(struct gmt_leaks *ret_leaks,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_timeline *timeline, const struct gmt_replay *replay,
	const struct gmt_history *history, const struct gmt_leaks_options *options,
	struct gmt_error *error);

void gmt_leaks_fini(struct gmt_leaks *leaks);

/* Frees the contents of one finding that is removed from the rows. */
void gmt_leak_fini(struct gmt_leak *leak);

/* Return the name of a reason ("steady") and its description ("nearly every step left more"). */
const char *gmt_leak_reason_name(enum gmt_leak_reason reason);
const char *gmt_leak_reason_words(enum gmt_leak_reason reason);

/*
 * Returns how often findings with this reason are right: (right + 1) / (all + 2), counted on
 * programs whose truth is known (Laplace's rule of succession). With few programs the confidence
 * stays low.
 */
double gmt_leak_reason_confidence(enum gmt_leak_reason reason);

const char *gmt_leak_definition_name(enum gmt_leak_definition definition);

#endif
