/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_DIFF_H
#define GMT_RENDER_DIFF_H

/*
 * What two recordings differ in: as text for a person (its form is free to change) and as JSON for
 * programs (docs/diff.md, schema gpumemtrace.diff/1).
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/compare/diff.h"
#include "render/json.h"

struct gmt_diff_style {
	uint64_t limit;  /* rows of each account; UINT64_MAX: all in JSON, a page's worth in text */
	uint64_t frames; /* text: lines of stack below each row */
	bool color;
};

/* One object; begun and ended here. */
void gmt_diff_json(const struct gmt_diff *diff, const struct gmt_diff_style *style, struct gmt_json *json);

/* False: out of memory. */
bool gmt_diff_text(const struct gmt_diff *diff, const struct gmt_diff_style *style, FILE *file);

#endif
