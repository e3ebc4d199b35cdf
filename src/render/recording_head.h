/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_RECORDING_HEAD_H
#define GMT_RENDER_RECORDING_HEAD_H

#include "analysis/recording/warnings.h"
#include "render/json.h"
#include "render/console.h"

/*
 * Writes the head of every text about a recording: what was recorded, when, and whether the
 * recording is complete.
 */
void gmt_recording_head_text(const struct gmt_console *console,
	const struct gmt_recording *recording, const struct gmt_warnings *warnings);

/*
 * Writes the key "in_progress" with the id of the process that still records, if it exists, into
 * the open object.
 */
void gmt_recording_head_json_in_progress(struct gmt_json *json,
	const struct gmt_recording *recording);

/* Writes the key "remarks" and its list into the open object. */
void gmt_recording_head_json_remarks(struct gmt_json *json, const struct gmt_warnings *warnings);

#endif
