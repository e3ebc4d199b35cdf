/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_REPORT_H
#define GMT_RENDER_REPORT_H

/*
 * The report of one snapshot: as text, whose form may change, and as JSON for programs
 * (docs/report-json.md, schema gpumemtrace.report/2). Renderers print the results of analyses.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/recording/warnings.h"
#include "analysis/allocator/custom_heaps.h"
#include "analysis/ledger/ledger.h"
#include "analysis/oom/ooms.h"
#include "analysis/history/sites.h"
#include "analysis/tables/summary.h"
#include "render/json.h"
#include "render/leaks.h"
#include "render/allocator_state.h"

struct gmt_report {
	const struct gmt_snapshot *snapshot;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_summary *summary;
	struct gmt_sites *sites; /* sorted again for each list */
	const struct gmt_warnings *warnings;
	const struct gmt_ooms *ooms;
	const struct gmt_ledger *ledger;
	const struct gmt_heaps *heaps;
	const struct gmt_allocator_state_view *allocator_state; /* or NULL */
	const struct gmt_leaks_view *leaks;
	/* text: section of `allocator_state`; any but GMT_ALLOCATOR_STATE_SHORT replaces the lists */
	enum gmt_allocator_state_section section;
	bool has_until; /* the report ends before the end of the recording */
	uint64_t limit; /* sites of a list; UINT64_MAX: all in JSON, about a page in text */
	uint64_t frames; /* lines of stack for each site in text */
	bool all_lists; /* text: lists by peak, by live and by total; else only the list of `key` */
	enum gmt_sites_key key;
	bool color;
};

/* Writes the report as one complete object. */
void gmt_report_json(const struct gmt_report *report, struct gmt_json *json);

/* Returns false if memory is exhausted. */
bool gmt_report_text(const struct gmt_report *report, FILE *file);

#endif
