/* SPDX-License-Identifier: MIT */
#ifndef GMT_PYTHON_PYTHON_CODE_H
#define GMT_PYTHON_PYTHON_CODE_H

/* Reads code objects and stores them in the depot. Internal to python*.c. */

#include "depot/depot.h"
#include "python/python_cache.h"
#include "python/python_layout.h"

/* Returns the function's name, a str object: the qualified name if this Python has it. */
const char *gmt_python_code_name(const struct gmt_python_layout *layout, const char *code);

/*
 * Stores a frame with its function in the depot. Returns its id, of kind GMT_DEPOT_FRAME; 0 if the
 * depot is full.
 */
uint32_t gmt_python_code_intern(const struct gmt_python_layout *layout, struct gmt_depot *depot,
	const struct gmt_python_walked_frame *walked);

/*
 * Returns the id of a frame from the cache. If the cache does not have it, stores the frame in the
 * depot and the cache. Returns 0 if the depot is full. `code_frees` is gmt_python_code_frees();
 * `fingerprint` is gmt_python_quick_fingerprint() of the code object.
 */
uint32_t gmt_python_code_id(const struct gmt_python_layout *layout, struct gmt_python_cache *cache,
	struct gmt_depot *depot, const struct gmt_python_walked_frame *walked, uint64_t fingerprint,
	uint64_t code_frees);

/* Returns the fingerprint of a code object without a version number. */
uint64_t gmt_python_code_hash(const struct gmt_python_layout *layout, const char *code);

/* Returns a value that changes if a code object of another function takes the same address. */
static inline uint64_t gmt_python_code_fingerprint(const struct gmt_python_layout *layout,
	const char *code)
{
	/* From 3.12 on, each new code object has its own version number. If none is left, it has 0. */
	uint32_t version = layout->code.version == GMT_PYTHON_NONE
		? 0
		: (uint32_t)gmt_python_load_int(code, layout->code.version);

	if (!version)
		return gmt_python_code_hash(layout, code);
	/*
	 * From 3.13 on, each interpreter of a process has its own numbers. The file distinguishes most
	 * code objects with equal numbers.
	 */
	return (uint64_t)version << 32 |
		(uint32_t)((uintptr_t)gmt_python_load(code, layout->code.file) >> 4);
}

#endif
