/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_BASELINE_H
#define GMT_ANALYSIS_GATE_BASELINE_H

/*
 * What a program held when it was last found good: a text file that is committed with it (docs/ci.md).
 * The same recording gives the same bytes; no address, line, time or name of a machine is in it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "containers/arena.h"
#include "base/status.h"
#include "containers/vec.h"

enum { GMT_BASELINE_VERSION = 1 };

/* What a layer on a device, or a group of sites in it, held. */
struct gmt_baseline_row {
	int32_t rank;   /* below 0: none */
	uint32_t layer;
	int32_t device; /* GMT_DEVICE_HOST: host memory */
	const char *key; /* of a group of sites (gmt_site_key.group); "" is the whole layer */
	uint64_t peak_bytes;
	uint64_t retained_bytes; /* alive when the work was done */
	uint64_t growth_bytes;   /* per step */
};

struct gmt_baseline {
	struct gmt_arena arena;
	GMT_VEC(struct gmt_baseline_row) rows;
};

/* Adds a row, `key` copied. False: no memory. */
bool gmt_baseline_add(struct gmt_baseline *baseline, const struct gmt_baseline_row *row);

/* What becomes of rows with equal keys: sites of one group are summed, several files compared. */
enum gmt_baseline_join { GMT_BASELINE_SUM, GMT_BASELINE_LARGEST };

/* Sorts and joins; before the following. */
void gmt_baseline_sort(struct gmt_baseline *baseline, enum gmt_baseline_join join);

/* NULL when there is none. */
const struct gmt_baseline_row *gmt_baseline_find(const struct gmt_baseline *baseline, int32_t rank,
	uint32_t layer, int32_t device, const char *key);

/* Reads a file's text; sorted. GMT_USAGE, with what to do, when it is none, or of a later version. */
enum gmt_status gmt_baseline_parse(struct gmt_baseline *ret_baseline, const char *text, const char *path,
	struct gmt_error *error);

/* Errors stay in the file. */
void gmt_baseline_write(const struct gmt_baseline *baseline, FILE *file);

void gmt_baseline_fini(struct gmt_baseline *baseline);

#endif
