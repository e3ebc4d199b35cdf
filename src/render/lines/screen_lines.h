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
	FILE *file; /* receives the finished lines */
	bool color;
	bool is_utf8;   /* the terminal shows UTF-8 */
	size_t columns; /* width of a line */
	size_t count;   /* number of finished lines */
	struct gmt_console line; /* the line that is being written */
	char *text;     /* text of that line */
	size_t bytes;   /* length of that text */
	/*
	 * Begin and end of a path in `text`. A line that is too long loses the front of the path first.
	 * Both are 0 if the line has no path.
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
 * Ends a text that may need `max_lines` lines. The second and later lines begin after `hang`
 * spaces. If the text is still too long, it ends with an ellipsis.
 */
void gmt_screen_end_wrapped(struct gmt_screen *screen, enum gmt_console_style style, size_t hang,
	size_t max_lines);

/* Ends a line without cutting it: a command that the user may copy. */
void gmt_screen_end_uncut(struct gmt_screen *screen);

/* Returns how many characters the line has so far. */
size_t gmt_screen_line_columns(struct gmt_screen *screen);

/* The text that is written between these two calls is the path of the line. */
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
