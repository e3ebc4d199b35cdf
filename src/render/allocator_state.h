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

enum gmt_allocator_state_section {
	GMT_ALLOCATOR_STATE_SHORT,       /* a few lines of each, in the report */
	GMT_ALLOCATOR_STATE_PEAK,
	GMT_ALLOCATOR_STATE_SEGMENTS,
	GMT_ALLOCATOR_STATE_ALLOCATOR,
	GMT_ALLOCATOR_STATE_TEMPORARIES,
	GMT_ALLOCATOR_STATE_TABLE,       /* `by` */
};

struct gmt_allocator_state_view {
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_timeline *timeline;
	const struct gmt_allocator_state *where;
	const struct gmt_temporaries *temporaries;
	struct gmt_table peaks[GMT_PEAK_KEYS]; /* by owner, category, part, phase, step; by peak */
	const struct gmt_table *by;            /* NULL: none was asked for */
	enum gmt_sites_key key;                /* that `by` is sorted by */
	uint64_t limit; /* rows in a list; UINT64_MAX: all in JSON, a page's worth in text */
	bool color;
};

void gmt_allocator_state_text(const struct gmt_allocator_state_view *view, enum gmt_allocator_state_section section, FILE *file);

/* What gmt_allocator_state_text writes for GMT_ALLOCATOR_STATE_PEAK and GMT_ALLOCATOR_STATE_TABLE, and for the short form of the first. */
void gmt_peaks_text(const struct gmt_allocator_state_view *view, bool is_short, FILE *file);
void gmt_table_text(const struct gmt_allocator_state_view *view, FILE *file);

/* "GPU 0", "the host". */
struct gmt_allocator_state_name {
	char text[24];
};
struct gmt_allocator_state_name gmt_allocator_state_device(int32_t device);

/* The keys "peaks", "segments", "allocator", "temporaries" and "tables", into the object that is open. */
void gmt_allocator_state_json(const struct gmt_allocator_state_view *view, struct gmt_json *json);

/* "peaks" and "tables" of these. */
void gmt_peaks_json(const struct gmt_allocator_state_view *view, struct gmt_json *json);
void gmt_tables_json(const struct gmt_allocator_state_view *view, struct gmt_json *json);

#endif
