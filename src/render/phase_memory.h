/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_PHASE_MEMORY_H
#define GMT_RENDER_PHASE_MEMORY_H

/* What each layer held while a phase was open (docs/internals/report-json-fields.md). */

#include "analysis/history/phase_memory.h"
#include "reader/load/recording.h"
#include "render/json.h"

/* Writes the key "memory" and its list into the open object; null if the phase was not counted. */
void gmt_phase_memory_json(const struct gmt_phase_memory_phase *phase,
	const struct gmt_recording *recording, struct gmt_json *json);

#endif
