/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PROFILE_PROFILE_VALUES_H
#define GMT_ANALYSIS_PROFILE_PROFILE_VALUES_H

/* The numbers of each stack in a profile (profile_values.def). */

#include <stdbool.h>

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

#endif
