/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_MEMORY_SUMMARY_H
#define GMT_ANALYSIS_TABLES_MEMORY_SUMMARY_H

/*
 * Summarizes what each layer holds on each device and on the host, as tables for the renderers. A
 * pure function of a recording and its replay. Strings are borrowed from the recording.
 */

#include <stdint.h>

#include "containers/vec.h"
#include "reader/replay/replay.h"

struct gmt_memory_summary_space {
	uint32_t space;
	uint64_t live_bytes; /* at the end of the program's work */
	uint64_t live_blocks;
	uint64_t peak_bytes; /* the space's own peak */
	uint64_t peak_time_ns;
};

struct gmt_memory_summary_layer {
	uint32_t layer;
	/*
	 * All zero if the layer had no event. The live bytes are those at the end of the program's
	 * work.
	 */
	struct gmt_account account;
	uint64_t live_at_exit_bytes, live_at_exit_blocks; /* live after the last event */
	uint64_t peak_time_ns;
	GMT_VEC(struct gmt_memory_summary_space) spaces; /* by number */
};

struct gmt_memory_summary_device {
	int32_t device;               /* below 0: the recording does not say which device */
	const struct gmt_device *info; /* NULL: not recorded */
	/* Layer cuda is always present. Other layers are present if they had events. */
	GMT_VEC(struct gmt_memory_summary_layer) layers;
};

struct gmt_memory_summary {
	/* By ordinal: devices that were recorded, and devices that had events. */
	GMT_VEC(struct gmt_memory_summary_device) devices;
	struct gmt_memory_summary_layer host;              /* host memory of layer cuda */
};

/*
 * Makes the summary. Fails only for lack of memory. `ret_summary` must be zeroed. The caller owns
 * it and ends it with gmt_memory_summary_fini.
 */
enum gmt_status gmt_memory_summary_compute(struct gmt_memory_summary *ret_summary,
	const struct gmt_recording *recording, const struct gmt_replay *replay,
	struct gmt_error *error);

void gmt_memory_summary_fini(struct gmt_memory_summary *summary);

#endif
