/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_FUNCTION_COVERAGE_H
#define GMT_RENDER_FUNCTION_COVERAGE_H

#include "analysis/recording/function_coverage.h"
#include "render/json.h"
#include "render/console.h"

/*
 * Writes the output of `info --coverage`: which CUDA functions the recorder saw, and which it did
 * not see.
 */
void gmt_function_coverage_text(const struct gmt_function_coverage *coverage,
	const struct gmt_console *console);

void gmt_function_coverage_json(const struct gmt_function_coverage *coverage,
	struct gmt_json *json);

#endif
