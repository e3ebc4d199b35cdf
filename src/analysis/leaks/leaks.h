/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAKS_LEAKS_H
#define GMT_ANALYSIS_LEAKS_LEAKS_H

/*
 * Leaks, each by a named definition and with its evidence. Findings are grouped by the user's own
 * line that allocated what is retained (gmt_traces_own_line), in one layer and space on one device.
 *
 *   growth  A line keeps more and more: the least that it holds from a step on rises, up to the last steps
 *           (rise.h, leak_growth.c).
 *   unexplained  All lines of a layer, space and device in which growth was not found, and which have no
 *           other reason to rise, keep more and more together (leak_unexplained.c). It has no stack.
 *   phase   made in a phase that the program marked, alive when the last phase or step was over. The
 *           newest block of a stack that made several is left out: it is a variable that the next pass
 *           would have replaced. So are parameters, gradients, optimizer state and workspaces.
 *   age     alive longer than so many steps or seconds at the end of the program's work
 *   exit    alive at the end of the program's work
 *
 * A line is reported by the first definition that fits; unexplained is about no line. Segments that PyTorch's allocator
 * holds, and arenas of other libraries, are never findings (`arenas` lists them); its pinned host memory and what CUDA's
 * libraries hold are none of exit. Neither are arrays of other frameworks, in a heap of their own too.
 *
 * Of a folded recording a definition judges only what its events, and what the fold kept, are enough for. What it does not
 * judge it says, with the reason (leak_compacted.c). Findings are true there too: what was found was found in what is known.
 *
 * What PyTorch's allocators hold for reuse is no leak: `cached` says how much that is. Without
 * `definitions`, layer torch is judged by growth and phase, everything else by growth, phase and exit.
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

/* What growth was told by. */
enum gmt_leak_ground {
#define GMT_LEAK_GROUND(NAME, name, right, all, words) GMT_LEAK_GROUND_##NAME,
#include "analysis/leaks/leak_grounds.def"
#undef GMT_LEAK_GROUND
};

/* Definitions that the curves of steps are judged by. */
#define GMT_LEAK_BY_STEPS (1u << GMT_LEAK_GROWTH | 1u << GMT_LEAK_UNEXPLAINED)

/* gmt_leak.stack of a finding that has none. */
#define GMT_LEAK_NO_STACK UINT32_MAX

enum { GMT_LEAK_LINES = 5 }; /* lines in a list of them, at most */

/* Blocks that are still there, by the step that made them. */
struct gmt_leak_attribution {
	uint32_t first_step, last_step; /* of the finding's series */
	uint64_t bytes, blocks;
};

/* A line of the program, and by how much it rose. */
struct gmt_leak_line {
	uint32_t layer;
	int32_t device;
	uint32_t space;
	uint32_t stack;    /* of the site that rose most */
	uint32_t own_line; /* index of a frame in it */
	uint64_t bytes;
};

/* A stack that made blocks of a finding. */
struct gmt_leak_stack {
	uint32_t stack;
	uint32_t own_line; /* index of a frame in it */
	uint64_t bytes, blocks;
};

struct gmt_leak {
	enum gmt_leak_definition definition;
	uint32_t group; /* number among those that were judged; UINT32_MAX: none */
	uint32_t layer;
	int32_t device; /* GMT_DEVICE_HOST: host memory */
	uint32_t space;
	uint32_t stack;    /* id in traces->stacks: of the group's largest site; or GMT_LEAK_NO_STACK */
	uint32_t own_line; /* index of a frame in it */
	uint32_t category; /* enum gmt_category, of that site */
	uint32_t frame_kinds; /* bits of reader/stacks/frame_kinds.h, of all stacks in the group */
	uint64_t bytes, blocks; /* retained; unexplained: by how much it rose, and 0 */
	uint32_t sites;    /* stacks in the group; unexplained: 0 */
	GMT_VEC(struct gmt_leak_stack) stacks; /* of them the first few, with most bytes first; the first one is `stack` */
	uint32_t burst_blocks; /* of its largest site: see gmt_history_site */
	/* growth, unexplained */
	double bytes_per_step; /* below 0: not known */
	enum gmt_leak_ground ground;
	double confidence;     /* 0..1: how often findings on this ground were right; below 0: not known */
	bool replaced;         /* one block that is replaced by a larger one; else blocks are left */
	uint32_t series;       /* index in timeline->series; what the steps are */
	uint32_t first_step;   /* the first that left something */
	uint32_t steps;        /* that were looked at */
	uint64_t steps_to_oom; /* UINT64_MAX: not known, or never */
	GMT_VEC(struct gmt_leak_attribution) attribution; /* growth */
	GMT_VEC(struct gmt_leak_line) rose_most; /* unexplained: the largest first */
	GMT_VEC(struct gmt_leak_line) followers; /* growth: lines whose one block grows in proportion with this one (leak_followers.c) */
	const char *heap;      /* layer custom: name of the heap of its largest site; else NULL */
	const char *phase;     /* definition phase: its name; else NULL */
	const char *hint;      /* the usual cause that fits the evidence; NULL when none does */
	uint32_t freed_stack_plus_1; /* where other blocks of the group are freed most often, if recorded */
};

/* What a caching allocator holds without a live block in it. */
struct gmt_leak_cached {
	int32_t device;
	uint64_t bytes;
};

struct gmt_leaks_options {
	uint32_t definitions;  /* bits by enum gmt_leak_definition; 0: as said above */
	uint32_t warmup_steps; /* UINT32_MAX: a fifth of the steps, 1 to 10 */
	uint32_t age_steps;    /* UINT32_MAX: not by steps */
	uint64_t age_ns;       /* UINT64_MAX: not by time */
	bool with_libraries;   /* exit: judges what CUDA's libraries and PyTorch's pinned cache hold too */
};

struct gmt_leaks {
	GMT_VEC(struct gmt_leak) rows; /* strongest first */
	GMT_VEC(struct gmt_leak_cached) cached;
	struct gmt_arenas arenas;
	/* Lines that rose and do not grow; the largest first, the first few only. */
	GMT_VEC(struct gmt_leak_line) given_back; /* came down again */
	GMT_VEC(struct gmt_leak_line) levels_off; /* rise less and less */
	const char *no_growth; /* why growth could not be judged; NULL when it was */
	const char *no_phases; /* likewise, what phases left */
	const char *no_end;    /* likewise, age and exit */
	bool is_folded_away;   /* one of these, because its events are in totals only */
};

/*
 * `history` observed `replay`, which went on to the end. Fails only for lack of memory. `ret_leaks`
 * (zeroed) is the caller's; end it with gmt_leaks_fini.
 */
enum gmt_status gmt_leaks_init(struct gmt_leaks *ret_leaks, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline, const struct gmt_replay *replay,
	const struct gmt_history *history, const struct gmt_leaks_options *options, struct gmt_error *error);

void gmt_leaks_fini(struct gmt_leaks *leaks);

/* Ends one finding that is taken out of the rows. */
void gmt_leak_fini(struct gmt_leak *leak);

/* "steady"; "nearly every step left more". */
const char *gmt_leak_ground_name(enum gmt_leak_ground ground);
const char *gmt_leak_ground_words(enum gmt_leak_ground ground);

/*
 * How often findings on this ground are right: one more than were right, of two more than there were among the programs whose truth is
 * known (Laplace's rule of succession), so that few programs make little confidence.
 */
double gmt_leak_ground_confidence(enum gmt_leak_ground ground);

const char *gmt_leak_definition_name(enum gmt_leak_definition definition);

#endif
