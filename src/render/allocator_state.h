/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_ALLOCATOR_STATE_H
#define GMT_RENDER_ALLOCATOR_STATE_H

/*
 * Where the memory went: what peaks are made of, PyTorch's segments and its allocator's own numbers,
 * temporaries, tables by line, operator, step and so on. As text for a person, and as keys of the
 * report's JSON (docs/report-json.md).
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/tables/tables.h"
#include "analysis/allocator/temporaries.h"
#include "analysis/allocator/allocator_state.h"
#include "render/json.h"

/* By what a peak is taken apart; the sites themselves do so already. */
enum { GMT_PEAK_KEYS = 5 };

enum gmt_where_section {
	GMT_WHERE_SHORT,       /* a few lines of each, in the report */
	GMT_WHERE_PEAK,
	GMT_WHERE_SEGMENTS,
	GMT_WHERE_ALLOCATOR,
	GMT_WHERE_TEMPORARIES,
	GMT_WHERE_TABLE,       /* `by` */
};

struct gmt_where_view {
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_timeline *timeline;
	const struct gmt_where *where;
	const struct gmt_temporaries *temporaries;
	struct gmt_table peaks[GMT_PEAK_KEYS]; /* by owner, category, part, phase, step; by peak */
	const struct gmt_table *by;            /* NULL: none was asked for */
	enum gmt_sites_key key;                /* that `by` is sorted by */
	uint64_t limit; /* rows in a list; UINT64_MAX: all in JSON, a page's worth in text */
	bool color;
};

void gmt_where_text(const struct gmt_where_view *view, enum gmt_where_section section, FILE *file);

/* What gmt_where_text writes for GMT_WHERE_PEAK and GMT_WHERE_TABLE, and for the short form of the first. */
void gmt_peaks_text(const struct gmt_where_view *view, bool is_short, FILE *file);
void gmt_table_text(const struct gmt_where_view *view, FILE *file);

/* "GPU 0", "the host". */
struct gmt_where_name {
	char text[24];
};
struct gmt_where_name gmt_where_device(int32_t device);

/* The keys "peaks", "segments", "allocator", "temporaries" and "tables", into the object that is open. */
void gmt_where_json(const struct gmt_where_view *view, struct gmt_json *json);

/* "peaks" and "tables" of these. */
void gmt_peaks_json(const struct gmt_where_view *view, struct gmt_json *json);
void gmt_tables_json(const struct gmt_where_view *view, struct gmt_json *json);

#endif
