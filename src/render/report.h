/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_REPORT_H
#define GMT_RENDER_REPORT_H

/*
 * The report of one snapshot: as text for a person (its form is free to change) and as JSON for
 * programs (docs/report-json.md, schema gpumemtrace.report/1). Renderers print what analyses made.
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
	struct gmt_sites *sites; /* sorted anew for each list */
	const struct gmt_warnings *warnings;
	const struct gmt_ooms *ooms;
	const struct gmt_ledger *ledger;
	const struct gmt_heaps *heaps;
	const struct gmt_allocator_state_view *where; /* or NULL */
	const struct gmt_leaks_view *leaks;
	enum gmt_allocator_state_section section; /* text: of `where`; all but GMT_ALLOCATOR_STATE_SHORT stand for the lists */
	bool has_until; /* the report ends before the recording does */
	uint64_t limit; /* sites in a list; UINT64_MAX: all in JSON, a page's worth in text */
	uint64_t frames; /* lines of stack for each site of the text */
	bool all_lists; /* text: by peak, by live, by total; else only the one of `key` */
	enum gmt_sites_key key;
	bool color;
};

/* One object; begun and ended here. */
void gmt_report_json(const struct gmt_report *report, struct gmt_json *json);

/* False: out of memory. */
bool gmt_report_text(const struct gmt_report *report, FILE *file);

#endif
