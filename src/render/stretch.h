/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_STRETCH_H
#define GMT_RENDER_STRETCH_H

/* A stretch of the recording (analysis/stretch/stretch.h) as JSON, schema gpumemtrace.stretch/1. */

#include "analysis/history/phase_memory.h"
#include "analysis/recording/warnings.h"
#include "analysis/stretch/stretch.h"
#include "reader/stacks/traces.h"
#include "render/json.h"

struct gmt_stretch_view {
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	const struct gmt_replay *replay;
	const struct gmt_warnings *warnings;
	const struct gmt_stretch *stretch;
	uint64_t from_ns; /* begin of the stretch, since the recording began */
	const char *phase; /* NULL: the stretch is not a phase */
	const struct gmt_phase_memory_phase
		*memory; /* of the phase; NULL: the stretch is not a phase */
	uint64_t limit; /* most sites; UINT64_MAX: all */
};

/* Writes the stretch as one complete object. */
void gmt_stretch_json(const struct gmt_stretch_view *view, struct gmt_json *json);

#endif
