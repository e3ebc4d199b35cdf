/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_DIFF_H
#define GMT_RENDER_DIFF_H

/*
 * The comparison of two recordings: as text, whose form may change, and as JSON for programs
 * (docs/diff.md, schema gpumemtrace.diff/2).
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/compare/diff.h"
#include "render/json.h"

struct gmt_diff_style {
	uint64_t limit;  /* rows of each account; UINT64_MAX: all in JSON, about a page in text */
	uint64_t frames; /* text: lines of stack below each row */
	bool color;
};

/* Writes the comparison as one complete object. */
void gmt_diff_json(const struct gmt_diff *diff, const struct gmt_diff_style *style,
	struct gmt_json *json);

/* Returns false if memory is exhausted. */
bool gmt_diff_text(const struct gmt_diff *diff, const struct gmt_diff_style *style, FILE *file);

#endif
