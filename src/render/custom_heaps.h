/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_CUSTOM_HEAPS_H
#define GMT_RENDER_CUSTOM_HEAPS_H

/* The program's own pools, as text and as a key of the report's JSON (docs/report-json.md). */

#include "analysis/allocator/custom_heaps.h"
#include "reader/load/recording.h"
#include "reader/stacks/traces.h"
#include "render/json.h"
#include "render/console.h"

struct gmt_custom_heaps_view {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_custom_heaps *heaps;
};

/* Writes a paragraph, or nothing if the program declared no heap. */
void gmt_custom_heaps_text(const struct gmt_custom_heaps_view *view,
	const struct gmt_console *console);

/* Writes the key "heaps" and its list. */
void gmt_custom_heaps_json(const struct gmt_custom_heaps_view *view, struct gmt_json *json);

#endif
