/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_PHASE_MEMORY_H
#define GMT_ANALYSIS_HISTORY_PHASE_MEMORY_H

/*
 * Measures what each layer on each device held while a phase was open: at its beginning, at most,
 * and at its end. Counts only phases that the program itself marked. Threads do not matter: a row
 * counts the memory of all threads. Phases in the compacted prefix are not counted. In the flow:
 * timeline + replay -> phase_memory -> renderers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"
#include "reader/steps/timeline.h"

enum {
	/*
	 * In place of a layer: what the program uses. That is PyTorch's blocks, and the blocks of layer
	 * cuda that are not segments of PyTorch's allocator.
	 */
	GMT_PHASE_MEMORY_PROGRAM = 0,
	GMT_PHASE_MEMORY_OPEN = 64, /* most phases that are counted at one time */
	GMT_PHASE_MEMORY_PHASES = 100000, /* most phases that are counted in a recording */
};

struct gmt_phase_memory_row {
	uint64_t begin_bytes, peak_bytes, end_bytes;
	uint64_t
		peak_stamp; /* when the peak was first reached; the phase's begin if nothing was above */
	uint64_t alloc_count, free_count;
	uint64_t alloc_bytes; /* sum over all allocations of the phase; saturates at INT64_MAX */
	int16_t device;
	uint8_t layer; /* GMT_LAYER_..., or GMT_PHASE_MEMORY_PROGRAM */
};

/* One phase. A row that would be all zeros is missing. */
struct gmt_phase_memory_phase {
	bool is_counted;
	GMT_VEC(struct gmt_phase_memory_row) rows;
};

/* What a layer on a device, or the program there, holds now. */
struct gmt_phase_memory_account {
	uint64_t live_bytes;
	int16_t device;
	uint8_t layer;
};

struct gmt_phase_memory {
	struct gmt_replay_observer observer; /* registered with the replay */
	const struct gmt_timeline *timeline;
	const struct gmt_traces *traces;
	size_t only; /* index of the only phase that is counted; SIZE_MAX: all */
	GMT_VEC(struct gmt_phase_memory_phase) phases; /* by index in the timeline's phases */
	GMT_VEC(struct gmt_phase_memory_account) accounts;
	struct gmt_map account_ids; /* from layer and device to index in accounts */
	GMT_VEC(uint64_t) site_bytes; /* for each site: the bytes that the accounts contain */
	GMT_VEC(uint32_t) open; /* indices of the open phases */
	uint64_t first_stamp; /* phases that begin earlier lie in the compacted prefix */
	size_t next; /* index of the next phase to open */
	size_t counted; /* number of phases that were opened */
};

/*
 * Prepares the observer. `memory` (zeroed) must not move while it observes, and ends with
 * gmt_phase_memory_fini. The phases that are counted must end at the end of the replay, or before.
 * `only` is the index of the only phase to count, or SIZE_MAX: all. Returns false when out of
 * memory.
 */
bool gmt_phase_memory_init(struct gmt_phase_memory *memory, const struct gmt_timeline *timeline,
	const struct gmt_recording *recording, const struct gmt_traces *traces, size_t only);

void gmt_phase_memory_fini(struct gmt_phase_memory *memory);

#endif
