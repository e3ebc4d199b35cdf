/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_TEXT_RANKS_TABLE_H
#define GMT_RENDER_TEXT_RANKS_TABLE_H

/* The table of ranks below the verdicts, and functions that ranks_text.c uses too. */

#include "render/lines/screen_lines.h"
#include "render/ranks.h"

struct gmt_ranks_writer {
	const struct gmt_ranks_view *view;
	const struct gmt_job *job;
	struct gmt_screen screen;
};

/* Write to the current line, and end it. */
__attribute__((format(printf, 2, 3))) void gmt_ranks_write(struct gmt_ranks_writer *writer,
	const char *format, ...);
void gmt_ranks_end(struct gmt_ranks_writer *writer);

/* Writes the name of a rank by its index: "rank 3", or without ranks "node1:4711". */
void gmt_ranks_name(struct gmt_ranks_writer *writer, uint32_t index);

/*
 * Writes the table: all ranks if they fit on the screen or `is_full` is set, else the most unusual
 * ones.
 * Returns false if memory is exhausted.
 */
bool gmt_ranks_table(struct gmt_ranks_writer *writer);

#endif
