/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_COMPARE_DIFF_MATCH_H
#define GMT_ANALYSIS_COMPARE_DIFF_MATCH_H

/* What of two recordings is compared with what, where names or numbers differ. Part of analysis/diff. */

#include "analysis/compare/diff.h"

/* GPUs of the new recording, by those of the base that they stand for. */
struct gmt_diff_devices {
	GMT_VEC(int32_t) used[GMT_DIFF_SIDES]; /* lowest first */
	bool are_paired; /* the first of one with the first of the other, and so on; else each with the same number */
};

/*
 * Two ranks of a job may each use one GPU, of another number: where both recordings used as many GPUs, they are compared
 * in their order. False when out of memory.
 */
bool gmt_diff_devices_init(struct gmt_diff_devices *ret_devices, const struct gmt_diff *diff);

/* The base's number of a side's device. */
int32_t gmt_diff_devices_base(const struct gmt_diff_devices *devices, int side, int32_t device);

void gmt_diff_devices_fini(struct gmt_diff_devices *devices);

/*
 * Rows of a file that lies in another folder in the new recording: where one of the base alone and one of the new one
 * alone have the same file and function but for the folder, and no others do, they are one row, with `moved_from`. False
 * when out of memory.
 */
bool gmt_diff_join_moved(struct gmt_diff *diff);

#endif
