/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_CODE_H
#define GMT_PYTHON_PYTHON_CODE_H

/* Code objects, and how they go into the depot. Internal to python*.c. */

#include "depot/depot.h"
#include "python/python_layout.h"

/* The name to show: the qualified one where this Python has it. A str object. */
const char *gmt_python_code_name(const struct gmt_python_layout *layout, const char *code);

/* The id of a place as GMT_DEPOT_FRAME, with its function; 0 when the depot is full. */
uint32_t gmt_python_code_intern(const struct gmt_python_layout *layout, struct gmt_depot *depot,
	const struct gmt_python_place *place);

/* gmt_python_code_fingerprint for code objects without a number. */
uint64_t gmt_python_code_hash(const struct gmt_python_layout *layout, const char *code);

/* A value that changes when another code object, of another function, takes the same address. */
static inline uint64_t gmt_python_code_fingerprint(const struct gmt_python_layout *layout, const char *code)
{
	/* From 3.12 each new code object has a number of its own, until these run out and are 0. */
	uint32_t stamp = layout->code.stamp == GMT_PYTHON_NONE ? 0 : (uint32_t)gmt_python_load_int(code, layout->code.stamp);

	if (!stamp)
		return gmt_python_code_hash(layout, code);
	/* Interpreters of one process count each for itself (3.13): the file tells most of these apart. */
	return (uint64_t)stamp << 32 | (uint32_t)((uintptr_t)gmt_python_load(code, layout->code.file) >> 4);
}

#endif
