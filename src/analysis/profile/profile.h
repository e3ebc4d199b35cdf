/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PROFILE_PROFILE_H
#define GMT_ANALYSIS_PROFILE_PROFILE_H

/*
 * What each site allocated, left and held at the peak, as profile viewers show it: a list of stacks
 * with numbers. Each number sums to the number of `report --json` for that layer and device. In a
 * stretch of the recording, the numbers are those of `report --json --from`.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/stretch/stretch.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"

enum gmt_profile_value {
#define GMT_PROFILE_VALUE(NAME, ...) GMT_PROFILE_##NAME,
#include "analysis/profile/profile_values.def"
#undef GMT_PROFILE_VALUE
	GMT_PROFILE_VALUES,
};

/* One number of a profile, for viewers. */
struct gmt_profile_value_info {
	const char *title;      /* "live memory" */
	bool is_bytes;          /* otherwise a count */
	const char *pprof_name; /* "inuse_space" */
};

extern const struct gmt_profile_value_info gmt_profile_values[GMT_PROFILE_VALUES];

/* Which memory to export. A profile has one layer, because torch's blocks lie inside cuda's. */
struct gmt_profile_choice {
	uint8_t layer; /* 0: all layers; only for formats of events */
	bool has_device; /* only the memory of `device` */
	int32_t device;  /* an ordinal, or GMT_DEVICE_HOST */
};

struct gmt_profile_row {
	uint32_t site;
	uint32_t space;
	uint32_t stack; /* id in traces->stacks */
	uint32_t owner; /* id in traces->owners */
	int32_t device; /* GMT_DEVICE_HOST: host memory */
	uint64_t values[GMT_PROFILE_VALUES];
};

struct gmt_profile {
	struct gmt_profile_choice choice;
	GMT_VEC(struct gmt_profile_row) rows; /* by device, then by stack, then by site */
};

/* Returns whether the choice includes the memory of this layer and device. */
static inline bool gmt_profile_includes(const struct gmt_profile_choice *choice, uint32_t layer,
	int32_t device)
{
	return (!choice->layer || layer == choice->layer) &&
		(!choice->has_device || device == choice->device);
}

/*
 * Makes the profile of a replay. `stretch` (may be NULL) observed that replay: then only its blocks
 * count. Fails only when out of memory. The caller owns `ret_profile` (zeroed) and ends it with
 * gmt_profile_fini.
 */
enum gmt_status gmt_profile_compute(struct gmt_profile *ret_profile,
	const struct gmt_profile_choice *choice, const struct gmt_replay *replay,
	const struct gmt_traces *traces, const struct gmt_stretch *stretch, struct gmt_error *error);

void gmt_profile_fini(struct gmt_profile *profile);

#endif
