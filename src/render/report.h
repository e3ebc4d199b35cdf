/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_REPORT_H
#define GMT_RENDER_REPORT_H

/*
 * The report of one recording: as text, whose form may change, and as JSON for programs
 * (docs/report-json.md, schema gpumemtrace.report/2). Renderers print the results of analyses.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/recording/warnings.h"
#include "analysis/allocator/custom_heaps.h"
#include "analysis/ledger/ledger.h"
#include "analysis/oom/ooms.h"
#include "analysis/history/site_table.h"
#include "analysis/overview/overview.h"
#include "analysis/tables/memory_summary.h"
#include "render/json.h"
#include "render/leaks.h"
#include "render/allocator_state.h"

enum gmt_report_section {
#define GMT_REPORT_SECTION(NAME, ...) GMT_REPORT_##NAME,
#include "render/report_sections.def"
#undef GMT_REPORT_SECTION
	GMT_REPORT_SECTIONS,
};

#define GMT_REPORT_SECTION_BIT(NAME) (UINT64_C(1) << GMT_REPORT_##NAME)

/* The sections of a full report. */
extern const uint64_t gmt_report_full;

struct gmt_report {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_memory_summary *summary;
	struct gmt_sites *sites; /* sorted again for each list */
	const struct gmt_warnings *warnings;
	const struct gmt_ooms *ooms;
	const struct gmt_ledger *ledger;
	const struct gmt_custom_heaps *heaps;
	const struct gmt_allocator_state_view *allocator_state; /* or NULL */
	const struct gmt_leaks_view *leaks;
	const struct gmt_overview *overview;
	uint64_t sections; /* text: bits by enum gmt_report_section */
	bool is_full;      /* text: a full report, with the head and short forms of its sections */
	size_t columns;    /* text: width of the first screen */
	bool is_utf8;   /* text: the terminal shows UTF-8 */
	bool has_page;     /* text: this program can write pages (--html) */
	bool without_sites; /* JSON: the lists of sites and of refused requests are empty */
	bool has_until; /* the report ends before the end of the recording */
	uint64_t limit; /* sites of a list; UINT64_MAX: all in JSON, about a page in text */
	uint64_t frames; /* lines of stack for each site in text */
	bool all_lists; /* text: lists by peak, by live and by total; else only the list by `order` */
	enum gmt_sites_order order;
	bool color;
};

/* Writes the report as one complete object. */
void gmt_report_json(const struct gmt_report *report, struct gmt_json *json);

/* Returns false if memory is exhausted. */
bool gmt_report_text(const struct gmt_report *report, FILE *file);

#endif
