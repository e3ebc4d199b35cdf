/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_HISTORY_H
#define GMT_ANALYSIS_HISTORY_HISTORY_H

/*
 * What happened from step to step, noted down while the events are replayed: what each account held, what each site held
 * at the ends of steps, which blocks lived at the end of the program's work. In the flow: replay -> history -> leaks,
 * breakdown.
 *
 *	gmt_history_init(&history, snapshot, traces, timeline, until_ns, error);
 *	options.observers = &history.observer;
 *	gmt_replay_init(&replay, snapshot, traces, &options, error);
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/steps/timeline.h"

enum {
	GMT_HISTORY_SAMPLES = 256,  /* at most so many ends of steps are kept for each site */
	GMT_HISTORY_ACCOUNTS = 128, /* so many accounts are followed from step to step, more than machines have */
};

/* What an account did in one step. */
struct gmt_history_step {
	uint64_t peak_bytes;
	uint64_t end_live_bytes;
};

/* What a site held at the end of a sampled step; kept when it changed. */
struct gmt_history_sample {
	uint32_t sample; /* number: steps 0, stride, 2 * stride ... */
	uint64_t live_bytes;
	uint64_t low_bytes; /* least that it held at the end of a step since the sample before */
};

/* A block that lived at a moment that was captured. */
struct gmt_history_block {
	uint64_t stamp; /* of its allocation */
	uint64_t address;
	uint64_t size_bytes;
	uint32_t site;
	uint8_t layer;
};

/* The moments whose live blocks are kept. */
enum gmt_history_moment {
	GMT_MOMENT_LAST_STEP,  /* the end of the last step of the first series, ... */
	GMT_MOMENT_LAST_STEP_2, /* ... of the second */
	GMT_MOMENT_LAST_PHASE, /* the last end of a step or of a phase that the program marked */
	GMT_MOMENT_LAST_ALLOCATION, /* of the program's work; what follows it only frees */
	GMT_MOMENT_WORK_END,   /* the end of the program's work */
	GMT_MOMENTS,
};

struct gmt_history_capture {
	uint64_t stamp; /* of the moment */
	bool wanted;    /* there is such a moment */
	bool taken;
	GMT_VEC(struct gmt_history_block) blocks;
	GMT_VEC(struct gmt_account) accounts; /* by index in the books */
};

/* Where in a step an event happened, told from its stack: the first rule of parts.def that fits. */
enum gmt_part {
#define GMT_PART(NAME, name, meaning) GMT_PART_##NAME,
#include "analysis/history/parts.def"
#undef GMT_PART
	GMT_PIPELINE,
};

/* What a program's modules and optimizers hold tensors as. */
enum gmt_history_role {
	GMT_ROLE_NONE, /* not as any of these, or nobody asked them */
	GMT_ROLE_PARAMETER,
	GMT_ROLE_GRADIENT,
	GMT_ROLE_OPTIMIZER_STATE,
	GMT_ROLE_BUFFER,
	GMT_ROLES,
};

/* What a site's blocks did over the recording. */
struct gmt_history_site {
	uint64_t brief_count;  /* made and freed in one step of the first series */
	uint64_t brief_bytes;
	uint64_t brief_largest_bytes;
	uint64_t kept_count;   /* lived on into a later step than they were made in */
	uint32_t freed_trace_plus_1; /* the first trace that freed one of its blocks, where frees have stacks */
	/* Of blocks that were two steps old or older when they ended, in the last quarter of a series. */
	uint64_t late_bytes[GMT_TIMELINE_SERIES];
	uint8_t role;          /* enum gmt_history_role, of most of what it held when they were asked last */
	uint64_t early_count;  /* made in a step, outside of modules, while none had been called since it began or since a backward pass */
	uint64_t late_count;   /* made in a step, outside of modules, otherwise */
	uint32_t burst_blocks; /* most blocks, made in different steps, that ended between two allocations */
	/* Stamps of ends between the last allocation of the program's work and its end; 0: there was none. */
	uint64_t last_end_stamp;  /* of the last block that ended */
	uint64_t early_end_stamp; /* of the first block that ended of those that were made up to the end of the first step; ... */
	uint64_t early_end_bytes; /* ... what all of these were */
	/* Its samples: of each series so many from there on in gmt_history_series.samples. */
	size_t first_sample[GMT_TIMELINE_SERIES];
	uint32_t sample_count[GMT_TIMELINE_SERIES];
};

/*
 * One series. `steps` holds what gmt_history_step_of finds: a row for each account that was there at the end of the step.
 */
struct gmt_history_series {
	uint32_t stride; /* steps from sample to sample */
	size_t step_count;   /* that ended within the replay */
	size_t sample_count; /* ends of steps that were sampled */
	bool lacks_past;     /* of steps that were folded the fold did not keep what sites held at their ends */
	GMT_VEC(struct gmt_history_step) steps;
	GMT_VEC(size_t) step_rows;      /* by step: its first in `steps`; one more behind the last */
	GMT_VEC(struct gmt_history_sample) samples; /* of all sites */
};

struct gmt_history {
	struct gmt_replay_observer observer; /* for the replay */
	struct gmt_history_series series[GMT_TIMELINE_SERIES];
	GMT_VEC(struct gmt_history_site) sites; /* by site id; what has a row was allocated from */
	struct gmt_history_capture captures[GMT_MOMENTS];
	uint32_t roles; /* bits by enum gmt_history_role: some site has it */
	void *state; /* of the observer */
};

/*
 * For a replay until `until_ns` (GMT_REPLAY_TO_END: all). Fails only for lack of memory. All that is given
 * must live until the replay is over.
 */
enum gmt_status gmt_history_init(struct gmt_history *ret_history, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline, uint64_t until_ns,
	struct gmt_error *error);

/* What an account (index in the replay's books) did in a step; zero where it was not there yet, or not followed. */
struct gmt_history_step gmt_history_step_of(const struct gmt_history_series *series, size_t step, size_t account);

/* The part of a step that an allocation with these landmarks belongs to. */
enum gmt_part gmt_part_of(uint32_t frame_kinds);

const char *gmt_part_name(enum gmt_part part);

void gmt_history_fini(struct gmt_history *history);

#endif
