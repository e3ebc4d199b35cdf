/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_COMPARE_DIFF_MATCH_H
#define GMT_ANALYSIS_COMPARE_DIFF_MATCH_H

/*
 * Matches devices and rows of two recordings whose numbers or names differ. Part of
 * analysis/compare/diff.
 */

#include "analysis/compare/diff.h"

/* Matches GPUs of the new recording with GPUs of the base. */
struct gmt_diff_devices {
	GMT_VEC(int32_t) used[GMT_DIFF_SIDES]; /* lowest number first */
	/* first GPU of one side matches first GPU of the other side, and so on; else by number */
	bool are_paired;
};

/*
 * Finds the GPUs that each side used. Two ranks of a job may each use one GPU with a different
 * number. So if both recordings used the same number of GPUs, the GPUs are matched in their order.
 * Returns false if memory is exhausted.
 */
bool gmt_diff_devices_match(struct gmt_diff_devices *ret_devices, const struct gmt_diff *diff);

/* Returns the number of the device in the base that matches this side's device. */
int32_t gmt_diff_devices_base(const struct gmt_diff_devices *devices, int side, int32_t device);

void gmt_diff_devices_fini(struct gmt_diff_devices *devices);

/*
 * Joins the rows of files that lie in another folder in the new recording. Two rows are joined,
 * with `moved_from`, if each exists in one recording only and their names differ only in the
 * folder. Rows are not joined if more rows share that name. Returns false if memory is exhausted.
 */
bool gmt_diff_join_moved(struct gmt_diff *diff);

#endif
