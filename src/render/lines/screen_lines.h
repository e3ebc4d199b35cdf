/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_LINES_SCREEN_LINES_H
#define GMT_RENDER_LINES_SCREEN_LINES_H

/*
 * Lines for a screen of limited width: each line is written into memory, then cut to the width. The
 * caller counts the lines by `count`.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "render/console.h"

struct gmt_screen {
	FILE *file; /* Where the finished lines go. */
	bool color;
	bool is_utf8;  /* The terminal shows UTF-8. */
	size_t columns;   /* Width of a line. */
	size_t count;     /* Lines so far. */
	struct gmt_console line; /* The line that is being written. */
	char *text;       /* Its text. */
	size_t bytes;
	/*
	 * Where a path begins and ends in `text`. A line that is too long loses the front of the path
	 * first. Both 0: there is none.
	 */
	size_t path_begin, path_end;
};

/*
 * Opens the screen; `file`, `color`, `is_utf8` and `columns` are set. Returns false if memory is
 * exhausted. End it with gmt_screen_fini.
 */
bool gmt_screen_init(struct gmt_screen *screen);

/*
 * Ends the line. A line that is too long gets an ellipsis in place of the front of its path, and if
 * that is not enough, at its end.
 */
void gmt_screen_end_line(struct gmt_screen *screen, enum gmt_console_style style);

/*
 * Ends a text that may need `most_lines` lines; the later ones begin after `hang` spaces. What does
 * not fit is replaced by an ellipsis.
 */
void gmt_screen_end_wrapped(struct gmt_screen *screen, enum gmt_console_style style, size_t hang,
	size_t most_lines);

/* Ends a line that must not be cut: a command that the user may copy. */
void gmt_screen_end_uncut(struct gmt_screen *screen);

/* Returns how many characters the line has so far. */
size_t gmt_screen_line_columns(struct gmt_screen *screen);

/* Marks what is written between these two calls as the path of the line. */
void gmt_screen_begin_path(struct gmt_screen *screen);
void gmt_screen_end_path(struct gmt_screen *screen);

/*
 * Draws `count` values (at least one above 0) as bars, `rows` lines high. The size of the highest
 * bar stands at the left, `title` below. Only for a terminal that shows UTF-8.
 */
void gmt_screen_bars(struct gmt_screen *screen, const uint64_t *values, size_t count, unsigned rows,
	const char *title);

/* Returns false if memory was exhausted. */
bool gmt_screen_fini(struct gmt_screen *screen);

#endif
