/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_PYTHON_CODE_H
#define GMT_CAPTURE_PYTHON_CODE_H

/* Code objects, and how they go into the depot. Internal to python*.c. */

#include "capture/depot.h"
#include "capture/python_layout.h"

/* A value that changes when another code object, of another function, takes the same address. */
uint64_t gmt_python_code_fingerprint(const struct gmt_python_layout *layout, const char *code);

/* The name to show: the qualified one where this Python has it. A str object. */
const char *gmt_python_code_name(const struct gmt_python_layout *layout, const char *code);

/* The id of a place as GMT_DEPOT_FRAME, with its function; 0 when the depot is full. */
uint32_t gmt_python_code_intern(const struct gmt_python_layout *layout, struct gmt_depot *depot,
	const struct gmt_python_place *place);

#endif
