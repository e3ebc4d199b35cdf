/* SPDX-License-Identifier: MIT */
#ifndef GMT_HOOKS_HOOKS_H
#define GMT_HOOKS_HOOKS_H

/*
 * The hooked functions as a table (hooks.def). interpose/ searches it to answer a look-up. writer/
 * takes the api names of events from it. This folder needs no header of CUDA.
 */

#include <stdint.h>

enum gmt_library { GMT_LIBRARY_CUDA, GMT_LIBRARY_CUDART, GMT_LIBRARY_C10 };

enum gmt_stream_mode { GMT_STREAM_MODE_LEGACY, GMT_STREAM_MODE_PTDS };

#define GMT_HOOK_ANY(library, symbol, ...) GMT_HOOK_##symbol,
enum gmt_hook {
	GMT_HOOK_NONE,
#include "hooks/hooks.def"
	GMT_HOOK_COUNT
};

/* A row of hooks.def, which explains the members. */
struct gmt_hook_info {
	const char *symbol;
	const char *base;
	uint32_t since; /* CUDA version: 11020 is 11.2 */
	uint8_t library; /* enum gmt_library */
	uint8_t mode;    /* enum gmt_stream_mode */
	void *wrapper;
};

/* Indexed by enum gmt_hook. Entry 0 is empty. */
extern const struct gmt_hook_info gmt_hooks[GMT_HOOK_COUNT];

/* Returns "cuda", "cudart" or "c10". */
const char *gmt_library_name(enum gmt_library library);

/*
 * Returns the hook with this exact exported name, or GMT_HOOK_NONE. Any thread. Takes no memory and
 * no lock.
 */
enum gmt_hook gmt_hook_by_symbol(const char *symbol);

/*
 * Returns the driver hook that cuGetProcAddress would choose for `base`: the newest row that is not
 * above `version`. For GMT_STREAM_MODE_PTDS, prefers a row of that mode. `base` may also be an
 * exact symbol. Returns GMT_HOOK_NONE if no row matches.
 */
enum gmt_hook gmt_hook_by_base(const char *base, uint32_t version, enum gmt_stream_mode mode);

#endif
