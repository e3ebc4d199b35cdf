/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_RANKS_H
#define GMT_RENDER_RANKS_H

/*
 * The ranks of a job: as text for one screen, whose form may change, as JSON for programs
 * (docs/ranks-json.md, schema gpumemtrace.ranks/1), and as data of a page
 * (docs/internals/page-data.md).
 */

#include "analysis/job/job.h"
#include "render/json.h"

enum { GMT_RANKS_SCREEN = 24 };

struct gmt_ranks_view {
	const struct gmt_job *job;
	/* the caller's remarks on the files, one line each; shown before the job's own remarks */
	const char *const *remarks;
	size_t remark_count;
	size_t columns;  /* text: width of a line */
	bool color;      /* text */
	bool is_utf8; /* text: the terminal shows UTF-8 */
	bool is_full;    /* text: all ranks and remarks, not one screen */
};

/* Returns false if memory is exhausted. */
bool gmt_ranks_text(const struct gmt_ranks_view *view, FILE *file);

/* Writes one complete object. */
void gmt_ranks_json(const struct gmt_ranks_view *view, struct gmt_json *json);

enum {
	GMT_RANKS_NOT_IN_PAGE = -1, /* the rank's recording exists, but the page does not have it */
	GMT_RANKS_NO_RECORDING = -2, /* only a summary was found */
};

/*
 * Writes the element with the packet of the job. `recordings` has for each rank the number of its
 * recording in the page, or one of the constants above. Returns false if memory is exhausted.
 */
bool gmt_ranks_page_packet(const struct gmt_ranks_view *view, const int32_t *recordings,
	FILE *file);

/* Writes what a browser without scripts shows of the job. Returns false if memory is exhausted. */
bool gmt_ranks_page_summary(const struct gmt_ranks_view *view, FILE *file);

#endif
