/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_ALLOCATOR_STATE_H
#define GMT_RENDER_ALLOCATOR_STATE_H

/*
 * The report's sections on the allocator state, as text and as keys of the report's JSON
 * (docs/report-json.md): the composition of peaks, PyTorch's segments, its allocator's statistics,
 * temporaries, and tables by line, operator, step and so on.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/tables/tables.h"
#include "analysis/allocator/temporaries.h"
#include "analysis/allocator/allocator_state.h"
#include "render/json.h"

/* Number of tables into which a peak is split. The list of sites already splits it by site. */
enum { GMT_PEAK_TABLES = 5 };

enum gmt_allocator_state_section {
	GMT_ALLOCATOR_STATE_PEAK,
	GMT_ALLOCATOR_STATE_SEGMENTS,
	GMT_ALLOCATOR_STATE_ALLOCATOR,
	GMT_ALLOCATOR_STATE_TEMPORARIES,
	GMT_ALLOCATOR_STATE_TABLE,
};

struct gmt_allocator_state_view {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_timeline *timeline;
	const struct gmt_allocator_state *allocator_state;
	const struct gmt_temporaries *temporaries;
	/* by owner, category, part, phase, step; sorted by peak */
	struct gmt_table peaks[GMT_PEAK_TABLES];
	const struct gmt_table *table; /* the table of --by; NULL: no table was requested */
	enum gmt_sites_order order;    /* how `table` is sorted */
	uint64_t limit; /* rows of a list; UINT64_MAX: all in JSON, about a page in text */
	bool color;
};

/* Writes a section. `is_short`: a few lines of it, as part of a full report. */
void gmt_allocator_state_text(const struct gmt_allocator_state_view *view,
	enum gmt_allocator_state_section section, bool is_short, FILE *file);

/* Returns the table of the peaks by this key. It must be one of the keys of view->peaks. */
const struct gmt_table *gmt_peak_table(const struct gmt_allocator_state_view *view,
	enum gmt_table_grouping key);

/*
 * Parts of gmt_allocator_state_text: gmt_peaks_text writes GMT_ALLOCATOR_STATE_PEAK, in full or in
 * its short form. gmt_table_text writes GMT_ALLOCATOR_STATE_TABLE.
 */
void gmt_peaks_text(const struct gmt_allocator_state_view *view, bool is_short, FILE *file);
void gmt_table_text(const struct gmt_allocator_state_view *view, FILE *file);

/*
 * Writes the keys "peaks", "segments", "allocator", "temporaries" and "tables" into the open
 * object.
 */
void gmt_allocator_state_json(const struct gmt_allocator_state_view *view, struct gmt_json *json);

/* Write the keys "peaks" and "tables". */
void gmt_peaks_json(const struct gmt_allocator_state_view *view, struct gmt_json *json);
void gmt_tables_json(const struct gmt_allocator_state_view *view, struct gmt_json *json);

#endif
