/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_STACK_JSON_H
#define GMT_RENDER_STACK_JSON_H

/* A merged stack as docs/report-json.md has it: the same wherever JSON has one. */

#include <stdint.h>

#include "reader/stacks/traces.h"
#include "render/json.h"

/* The key "stack" and its list of frames, leaf first, into the object that is open. */
void gmt_stack_json(const struct gmt_traces *traces, uint32_t stack, struct gmt_json *json);

/* The key "owner": which library asked for what this stack got in this layer on this device. */
void gmt_owner_json(const struct gmt_traces *traces, uint32_t stack, uint32_t layer, int32_t device,
	struct gmt_json *json);

/* One frame, of this place; an object. */
void gmt_frame_json(const struct gmt_traces *traces, uint32_t place, struct gmt_json *json);

#endif
