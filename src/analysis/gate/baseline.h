/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_BASELINE_H
#define GMT_ANALYSIS_GATE_BASELINE_H

/*
 * The baseline: what a program held when it was last accepted as good. It is a text file that is
 * committed with the program (docs/baseline.md). The same recording always gives the same bytes.
 * The file has no addresses, line numbers, times or machine names.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "containers/arena.h"
#include "base/status.h"
#include "containers/vec.h"

enum { GMT_BASELINE_VERSION = 1 };

/* The memory that one layer held on one device, or that one group of sites held in this layer. */
struct gmt_baseline_row {
	int32_t rank;   /* below 0: no rank */
	uint32_t layer;
	int32_t device; /* GMT_DEVICE_HOST: host memory */
	const char *key; /* key of a group of sites (gmt_site_key.group); "": the whole layer */
	uint64_t peak_bytes;
	uint64_t retained_bytes; /* alive when the work was done */
	uint64_t growth_bytes;   /* per step */
};

struct gmt_baseline {
	struct gmt_arena arena;
	GMT_VEC(struct gmt_baseline_row) rows;
};

/* Adds a copy of a row, with a copy of its `key`. False when out of memory. */
bool gmt_baseline_add(struct gmt_baseline *baseline, const struct gmt_baseline_row *row);

/*
 * How rows with equal keys are joined: the sites of one group are summed, the rows of several files
 * are compared.
 */
enum gmt_baseline_join { GMT_BASELINE_SUM, GMT_BASELINE_LARGEST };

/*
 * Sorts the rows and joins those with equal keys. Call it before gmt_baseline_find and
 * gmt_baseline_write.
 */
void gmt_baseline_sort(struct gmt_baseline *baseline, enum gmt_baseline_join join);

/* Returns the row, or NULL if the baseline has no such row. */
const struct gmt_baseline_row *gmt_baseline_find(const struct gmt_baseline *baseline, int32_t rank,
	uint32_t layer, int32_t device, const char *key);

/*
 * Parses the text of a file and sorts the rows. Returns GMT_USAGE, with advice to the user in
 * `error`, if it is not a baseline or is from a later version.
 */
enum gmt_status gmt_baseline_parse(struct gmt_baseline *ret_baseline, const char *text,
	const char *path, struct gmt_error *error);

/* Writes the baseline. Write errors are left in the error indicator of `file`. */
void gmt_baseline_write(const struct gmt_baseline *baseline, FILE *file);

void gmt_baseline_fini(struct gmt_baseline *baseline);

#endif
