/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_LIVE_LIVE_H
#define GMT_RENDER_LIVE_LIVE_H

/*
 * Renders what `gpumemtrace top` shows: as text, as JSON, as metrics for Prometheus and as
 * events for TensorBoard. Computes nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analysis/live/live_view.h"
#include "render/json.h"
#include "render/lines/screen_lines.h"

/* A process and what it holds at the moment of the view. */
struct gmt_live_process {
	const struct gmt_follow *follow;
	const struct gmt_live_view *view;
	uint32_t pid;       /* as the process itself sees it */
	const char *path;   /* of the recording */
	const char *state;  /* "recording", "paused", "stopped", "ended" or "killed" */
	enum gmt_live_order order;
	size_t unnamed_sites; /* sites whose line of code is not known yet */
	/* part of the file that was read, in percent; 100: all that it has now */
	unsigned read_percent;
};

struct gmt_live_text_options {
	size_t max_lines;   /* of the table of code lines */
	size_t first_line;  /* number of lines to skip */
	unsigned curve_rows; /* height of the curve; 0: no curve */
};

/*
 * Writes the process: what it is and does, its devices, the curve of the device with the most
 * memory, and the lines of code.
 */
void gmt_live_text(struct gmt_screen *screen, const struct gmt_live_process *process,
	const struct gmt_live_text_options *options);

/* Writes the process as an object with at most `max_lines` lines of code. */
void gmt_live_json(struct gmt_json *json, const struct gmt_live_process *process, size_t max_lines);

/* Returns the word of an order: "live", "growth", "allocs" or "total". */
const char *gmt_live_order_name(enum gmt_live_order order);

/*
 * Writes the processes in the text format OpenMetrics 1.0, whose media type is
 * GMT_LIVE_METRICS_TYPE. docs/live.md describes each metric.
 */
void gmt_live_metrics(FILE *file, const struct gmt_live_process *processes, size_t count);

/*
 * Writes the memory of each device as an event for TensorBoard. Its step is the number of steps so
 * far, or of milliseconds if no step was marked. `is_first`: the file is new. Returns false when
 * out of memory.
 */
bool gmt_live_tensorboard(FILE *file, const struct gmt_live_process *process, bool is_first);

#define GMT_LIVE_METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

#endif
