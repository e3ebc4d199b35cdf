/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_LINES_COLUMNS_H
#define GMT_RENDER_LINES_COLUMNS_H

/*
 * Columns of text on a terminal: a character of UTF-8 takes 0, 1 or 2 of them
 * (gmt_character_width), and a style (gmt_plain_style) takes none. The text from `at` to `end` is
 * valid UTF-8. No state.
 */

#include <stddef.h>
#include <stdio.h>

/* Returns how many columns the text takes. */
size_t gmt_columns_count(const char *at, const char *end);

/*
 * Returns the end of the longest front of the text that takes at most `columns` columns, with the
 * combining marks after its last character.
 */
const char *gmt_columns_fit(const char *at, const char *end, size_t columns);

/*
 * Returns the end of the shortest front of the text that takes at least `columns` columns, with the
 * combining marks after its last character; `end` if the text is shorter.
 */
const char *gmt_columns_skip(const char *at, const char *end, size_t columns);

/* Returns where the text begins, after the styles before it. */
const char *gmt_columns_skip_styles(const char *at, const char *end);

/*
 * Removes the bytes `from` up to `to` of a text of `bytes` bytes, puts `ellipsis` in their place and
 * keeps the styles that were among them. Returns the new length, without a 0 at the end. The removed
 * characters must have as many bytes as `ellipsis`, or one less if the text has a 0 at its end.
 */
size_t gmt_columns_cut(char *text, size_t bytes, size_t from, size_t to, const char *ellipsis);

/*
 * Returns how many columns gmt_columns_cut_path can remove from the path from `at` to `end`: the
 * slash before its last part and that part stay. 0: the path is too short.
 */
size_t gmt_columns_path_spare(const char *at, const char *end, const char *ellipsis);

/*
 * Puts `ellipsis` in place of the front of the path that has the bytes `from` up to `to` of a text of
 * `bytes` bytes, so that the text loses `columns` columns: at most the path's spare ones. Because a
 * character may take two columns, it may lose one more. Returns the new length, as gmt_columns_cut.
 */
size_t gmt_columns_cut_path(char *text, size_t bytes, size_t from, size_t to, size_t columns,
	const char *ellipsis);

#endif
