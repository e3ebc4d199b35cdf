/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_STRETCH_STRETCH_H
#define GMT_ANALYSIS_STRETCH_STRETCH_H

/*
 * A stretch of the recording: what its events allocated, what is left of it at the end of the
 * stretch, and the peak inside. The end is the end of the replay. Only blocks that began in the
 * stretch belong to its sites. Data flow: replay -> stretch -> report.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/replay/replay.h"

/* One layer on one device. */
struct gmt_stretch_account {
	uint64_t begin_live_bytes, begin_live_blocks;
	uint64_t end_live_bytes, end_live_blocks;
	/* the most that lived in the stretch; at least what lived when it began */
	uint64_t peak_bytes, peak_blocks;
	uint64_t peak_stamp; /* when the peak was first reached; 0: when the stretch began */
	uint64_t allocs, alloc_bytes;
	uint64_t frees, freed_bytes; /* of all blocks, also of older ones */
	uint64_t peak_number; /* number of peaks so far */
};

/* The blocks of one site that began in the stretch. */
struct gmt_stretch_site {
	uint64_t allocs, alloc_bytes;
	uint64_t left_bytes, left_blocks; /* live at the end of the stretch */
	uint64_t peak_bytes, peak_blocks; /* live at the peak of the account */
	uint64_t peak_number; /* internal: the peak that peak_bytes and peak_blocks belong to */
};

struct gmt_stretch {
	struct gmt_replay_observer observer; /* registered with the replay */
	size_t first; /* number of the first event of the stretch */
	uint64_t next_needed_stamp; /* stamp after which the observer waits for the first event */
	bool has_begun;
	uint64_t began; /* number of blocks that had begun before the stretch */
	GMT_VEC(struct gmt_stretch_account) accounts; /* by index in the accounting */
	GMT_VEC(struct gmt_stretch_site) sites; /* by id in the accounting; later sites: nothing */
};

/*
 * Prepares the observer. `stretch` (zeroed) must not move while it observes. `first` is the number
 * of its first event in order of time; it must not lie in the compacted prefix.
 */
void gmt_stretch_init(struct gmt_stretch *stretch, const struct gmt_recording *recording,
	size_t first);

void gmt_stretch_fini(struct gmt_stretch *stretch);

#endif
