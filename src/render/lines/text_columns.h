/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_LINES_TEXT_COLUMNS_H
#define GMT_RENDER_LINES_TEXT_COLUMNS_H

/*
 * Columns of text on a terminal: a character of UTF-8 takes 0, 1 or 2 of them
 * (gmt_character_width), and a style (gmt_console_style) takes none. The text from `at` to `end` is
 * valid UTF-8. No state.
 */

#include <stddef.h>
#include <stdio.h>

/* Returns how many columns the text takes. */
size_t gmt_columns_count(const char *at, const char *end);

/*
 * Returns the end of the longest prefix of the text that takes at most `columns` columns, with the
 * combining marks after its last character.
 */
const char *gmt_columns_fit(const char *at, const char *end, size_t columns);

/*
 * Returns the end of the shortest prefix of the text that takes at least `columns` columns, with
 * the combining marks after its last character; `end` if the text is shorter.
 */
const char *gmt_columns_skip(const char *at, const char *end, size_t columns);

/* Returns where the text begins, after the styles before it. */
const char *gmt_columns_skip_styles(const char *at, const char *end);

/*
 * Replaces the bytes [from, to) of a text of `bytes` bytes by `ellipsis`, and keeps the styles that
 * were among them. Returns the new length, and adds no terminating 0. The removed characters must
 * have at least as many bytes as `ellipsis`, or one less if the text has a terminating 0.
 */
size_t gmt_columns_cut(char *text, size_t bytes, size_t from, size_t to, const char *ellipsis);

/*
 * Returns how many columns gmt_columns_cut_path can remove from the path from `at` to `end`: it
 * keeps the last part of the path and the slash before that part. 0: the path is too short.
 */
size_t gmt_columns_path_spare(const char *at, const char *end, const char *ellipsis);

/*
 * The bytes [from, to) of the text are a path. Replaces the beginning of the path by `ellipsis`, so
 * that the text loses `columns` columns, or one more if a character takes two columns. `columns` is
 * at most the result of gmt_columns_path_spare. Returns the new length, like gmt_columns_cut.
 */
size_t gmt_columns_cut_path(char *text, size_t bytes, size_t from, size_t to, size_t columns,
	const char *ellipsis);

#endif
