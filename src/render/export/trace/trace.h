/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_EXPORT_TRACE_TRACE_H
#define GMT_RENDER_EXPORT_TRACE_TRACE_H

/*
 * A recording as a timeline: steps and phases as slices on tracks, the live memory of each layer
 * and device as curves, and refused requests. trace.c and trace_slices.c say what the timeline
 * has; a form (chrome.c, perfetto.c) writes it.
 *
 * A curve has up to two values in each of 65,536 equal intervals: the highest and the last.
 */

#include "render/export/export.h"
#include "render/export/frames.h"

/* Nanoseconds since the recording began. */
struct gmt_trace_span {
	uint64_t begin_ns, end_ns;
};

struct gmt_trace;

/* How the parts are written. NULL: the form does not have the part. A form has values. */
struct gmt_trace_form {
	/* Names a track of slices, before its first slice. Tracks count from 0. */
	void (*name_track)(struct gmt_trace *trace, const char *name, uint32_t track);
	/* Slices of one track nest. The outer slice comes first. */
	void (*slice)(struct gmt_trace *trace, const char *name, struct gmt_trace_span span,
		uint32_t track);
	/* The curve of an account has this value from now on. Times do not decrease. */
	void (*value)(struct gmt_trace *trace, const struct gmt_account *account, uint64_t time_ns,
		uint64_t bytes);
	void (*refusal)(struct gmt_trace *trace, const struct gmt_recording_event *event,
		int32_t device, uint64_t time_ns);
};

struct gmt_trace {
	struct gmt_export *export;
	const struct gmt_trace_form *form;
	uint64_t end_ns; /* slices end here, at the latest */
};

/* Returns a trace for the form, with the end of the export. */
struct gmt_trace gmt_trace_begin(struct gmt_export *export, const struct gmt_trace_form *form);

/* Writes the steps and the phases. Returns false when out of memory. */
bool gmt_trace_slices(struct gmt_trace *trace);

/* Writes slices, curves and refused requests. Fails as gmt_replay_run. */
enum gmt_status gmt_trace_write(struct gmt_trace *trace, struct gmt_error *error);

/* Writes the name of an account's curve: "live memory, torch, GPU 0". */
struct gmt_export_name gmt_trace_curve(const struct gmt_account *account);

/*
 * Returns the frames of a stack as one line: "forward (model.py:20) < main (train.py:31)". From
 * malloc; NULL: out of memory.
 */
char *gmt_trace_stack(const struct gmt_traces *traces, uint32_t stack);

#endif
