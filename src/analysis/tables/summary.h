/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_TABLES_SUMMARY_H
#define GMT_ANALYSIS_TABLES_SUMMARY_H

/*
 * What each layer holds on each device, and on the host. A pure function of a snapshot and its
 * replay; tables for the renderers. Strings are borrowed from the snapshot.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "reader/replay/replay.h"

struct gmt_summary_space {
	uint32_t space;
	uint64_t live_bytes; /* at the end of the program's work */
	uint64_t live_blocks;
	uint64_t peak_bytes; /* its own */
	uint64_t peak_time_ns;
};

struct gmt_summary_layer {
	uint32_t layer;
	struct gmt_account account; /* all zero when it had no event; what lives as at the end of the program's work */
	uint64_t left_bytes, left_blocks; /* behind the last event */
	uint64_t peak_time_ns;
	GMT_VEC(struct gmt_summary_space) spaces; /* by number */
};

struct gmt_summary_device {
	int32_t device;               /* below 0: the recording does not say which */
	const struct gmt_device *info; /* NULL: not recorded */
	GMT_VEC(struct gmt_summary_layer) layers; /* cuda always, the others where they had events */
};

struct gmt_summary {
	GMT_VEC(struct gmt_summary_device) devices; /* by ordinal; those recorded and those of events */
	struct gmt_summary_layer host;              /* what the cuda layer holds there */
};

/* Fails only for lack of memory. `ret_summary` (zeroed) is the caller's; end it with gmt_summary_fini. */
enum gmt_status gmt_summary_init(struct gmt_summary *ret_summary, const struct gmt_snapshot *snapshot,
	const struct gmt_replay *replay, struct gmt_error *error);

void gmt_summary_fini(struct gmt_summary *summary);

#endif
