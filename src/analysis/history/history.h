/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_HISTORY_H
#define GMT_ANALYSIS_HISTORY_HISTORY_H

/*
 * Records what happens from step to step while the events are replayed. It stores what each account
 * held, and what each site held at the ends of steps. It also stores which blocks lived at the end
 * of the program's work. Data flow: replay -> history -> leaks, tables.
 *
 *   gmt_history_init(&history, recording, traces, timeline, until_ns, error);
 *   options.observers = &history.observer;
 *   gmt_replay_run(&replay, recording, traces, &options, error);
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/steps/timeline.h"

enum {
	GMT_HISTORY_SAMPLES = 256,  /* most ends of steps that are sampled for each site */
	/* Most accounts that are followed from step to step. No machine has more. */
	GMT_HISTORY_ACCOUNTS = 128,
};

/* An account in one step. */
struct gmt_history_step {
	uint64_t peak_bytes;
	uint64_t end_live_bytes;
};

/* What a site held at the end of a sampled step. Stored only if the site changed. */
struct gmt_history_sample {
	uint32_t sample; /* Sample number. The samples are at steps 0, stride, 2 * stride ... */
	uint64_t live_bytes;
	uint64_t low_bytes; /* least that it held at the end of a step since the previous sample */
};

/* A block that lived at a captured moment. */
struct gmt_history_block {
	uint64_t stamp; /* stamp of its allocation */
	uint64_t address;
	uint64_t size_bytes;
	uint32_t site;
	uint8_t layer;
};

/* Moments whose live blocks are stored. */
enum gmt_history_moment {
	GMT_HISTORY_AT_LAST_STEP,  /* the end of the last step of the first series */
	GMT_HISTORY_AT_LAST_STEP_2, /* the end of the last step of the second series */
	GMT_HISTORY_AT_LAST_PHASE, /* the last end of a step or of a phase that the program marked */
	/* The last allocation of the program's work. After it the program only frees. */
	GMT_HISTORY_AT_LAST_ALLOCATION,
	GMT_HISTORY_AT_WORK_END,   /* the end of the program's work */
	GMT_HISTORY_MOMENTS,
};

struct gmt_history_capture {
	uint64_t stamp; /* stamp of the moment */
	bool wanted;    /* the moment exists within the replay */
	bool taken;
	GMT_VEC(struct gmt_history_block) blocks;
	GMT_VEC(struct gmt_account) accounts; /* by index in the accounting */
};

/*
 * The part of a step in which an event happened. The stack decides: the first matching rule of
 * parts.def.
 */
enum gmt_part {
#define GMT_PART(NAME, name, meaning) GMT_PART_##NAME,
#include "analysis/history/parts.def"
#undef GMT_PART
	GMT_PARTS,
};

/* Roles in which modules and optimizers hold tensors. */
enum gmt_history_role {
	GMT_ROLE_NONE, /* no role below, or the program's modules were not asked */
	GMT_ROLE_PARAMETER,
	GMT_ROLE_GRADIENT,
	GMT_ROLE_OPTIMIZER_STATE,
	GMT_ROLE_BUFFER,
	GMT_ROLES,
};

/* The blocks of a site over the whole recording. */
struct gmt_history_site {
	uint64_t brief_count;  /* made and freed within one step of the first series */
	uint64_t brief_bytes;
	uint64_t brief_largest_bytes;
	uint64_t kept_count;   /* lived on into a later step */
	/* First trace that freed one of its blocks, + 1. 0: unknown (frees need stacks). */
	uint32_t freed_trace_plus_1;
	/*
	 * Bytes of blocks that ended in the last quarter of a series, when they were at least two steps
	 * old.
	 */
	uint64_t freed_in_last_quarter_bytes[GMT_TIMELINE_SERIES];
	/*
	 * enum gmt_history_role: the role of at least half of the site's bytes when the modules were
	 * last asked.
	 */
	uint8_t role;
	/*
	 * Blocks made in a step, outside of modules, before its first module call or after a backward
	 * pass without a later module call.
	 */
	uint64_t before_modules_count;
	uint64_t other_outside_count;   /* other blocks made in a step, outside of modules */
	/*
	 * Frees between the last allocation of the program's work and the end of the work. Stamp 0: no
	 * free.
	 */
	uint64_t last_end_stamp;  /* when the last block was freed */
	/*
	 * When the first early block was freed. Early blocks were made up to the end of the first step.
	 */
	uint64_t first_step_blocks_end_stamp;
	uint64_t first_step_blocks_ended_bytes; /* bytes of all early blocks that were freed */
	/* The samples of the site in each series: a range in gmt_history_series.samples. */
	size_t first_sample[GMT_TIMELINE_SERIES];
	uint32_t sample_count[GMT_TIMELINE_SERIES];
};

/*
 * A series of steps. Use gmt_history_step_of to read `steps`. It has one row for each account that
 * existed at the end of the step.
 */
struct gmt_history_series {
	uint32_t stride; /* steps from sample to sample */
	size_t step_count;   /* steps that ended within the replay */
	size_t sample_count; /* number of samples */
	/* Some steps are compacted, and the compacted prefix lacks what sites held at their ends. */
	bool lacks_compacted_samples;
	GMT_VEC(struct gmt_history_step) steps;
	GMT_VEC(size_t) step_rows; /* by step: first row in `steps`; one extra entry at the end */
	GMT_VEC(struct gmt_history_sample) samples; /* of all sites */
};

struct gmt_history {
	struct gmt_replay_observer observer; /* registered with the replay */
	struct gmt_history_series series[GMT_TIMELINE_SERIES];
	GMT_VEC(struct gmt_history_site) sites; /* by site id */
	struct gmt_history_capture captures[GMT_HISTORY_MOMENTS];
	uint32_t roles; /* roles that some site has: bits by enum gmt_history_role */
	void *state; /* private to the observer */
};

/*
 * Prepares the history of a replay until `until_ns` (GMT_REPLAY_TO_END: all). Fails only for lack
 * of memory. All arguments must live until the replay is over.
 */
enum gmt_status gmt_history_init(struct gmt_history *ret_history,
	const struct gmt_recording *recording, const struct gmt_traces *traces,
	const struct gmt_timeline *timeline, uint64_t until_ns, struct gmt_error *error);

/*
 * Returns what an account (index in the replay's accounting) held in a step. Returns zeros if the
 * account did not exist yet or is not followed.
 */
struct gmt_history_step gmt_history_step_of(const struct gmt_history_series *series, size_t step,
	size_t account);

/* Returns the part of a step of an allocation with these frame kinds. */
enum gmt_part gmt_part_of(uint32_t frame_kinds);

const char *gmt_part_name(enum gmt_part part);

void gmt_history_fini(struct gmt_history *history);

#endif
