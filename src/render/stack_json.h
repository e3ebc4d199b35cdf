/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_STACK_JSON_H
#define GMT_RENDER_STACK_JSON_H

/* A merged stack in JSON, in the format of docs/report-json.md. All JSON outputs use it. */

#include <stdint.h>

#include "reader/stacks/traces.h"
#include "render/json.h"

/* Writes the key "stack" and its list of frames, leaf first, into the open object. */
void gmt_stack_json(const struct gmt_traces *traces, uint32_t stack, struct gmt_json *json);

/*
 * Writes the key "owner": the library that asked for the memory of this stack, in this layer on
 * this device.
 */
void gmt_owner_json(const struct gmt_traces *traces, uint32_t stack, uint32_t layer, int32_t device,
	struct gmt_json *json);

void gmt_frame_json(const struct gmt_traces *traces, uint32_t place_id, struct gmt_json *json);

#endif
