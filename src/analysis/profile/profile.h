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

#include "analysis/profile/profile_groups.h"
#include "analysis/stretch/stretch.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"

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
	uint32_t group; /* of the profile's groups; 0 without groups */
	uint64_t values[GMT_PROFILE_VALUES];
};

struct gmt_profile {
	struct gmt_profile_choice choice;
	const struct gmt_profile_groups *groups; /* NULL: the profile has no groups */
	GMT_VEC(struct gmt_profile_row) rows; /* by device, then group, then stack, then site */
};

/* Returns whether the choice includes the memory of this layer and device. */
static inline bool gmt_profile_includes(const struct gmt_profile_choice *choice, uint32_t layer,
	int32_t device)
{
	return (!choice->layer || layer == choice->layer) &&
		(!choice->has_device || device == choice->device);
}

/* Returns whether two rows have the same device, group and stack: they differ in their space. */
static inline bool gmt_profile_is_same_stack(const struct gmt_profile_row *a,
	const struct gmt_profile_row *b)
{
	return a->device == b->device && a->group == b->group && a->stack == b->stack;
}

/*
 * Makes the profile of a replay. `stretch` (may be NULL) observed that replay: then only its blocks
 * count. `groups` (may be NULL; borrowed) observed it too: then a site has a row in each of its
 * groups. Fails only when out of memory. The caller owns `ret_profile` (zeroed) and ends it with
 * gmt_profile_fini.
 */
enum gmt_status gmt_profile_compute(struct gmt_profile *ret_profile,
	const struct gmt_profile_choice *choice, const struct gmt_replay *replay,
	const struct gmt_traces *traces, const struct gmt_stretch *stretch,
	struct gmt_profile_groups *groups, struct gmt_error *error);

void gmt_profile_fini(struct gmt_profile *profile);

#endif
