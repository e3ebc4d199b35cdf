/* SPDX-License-Identifier: MIT */
#include "hooks/hooks.h"

#include <stdbool.h>
#include <string.h>

/*
 * The wrappers by their private names, because another preloaded library may define the exported
 * names first. The table needs only their addresses, so their types do not matter.
 */
#define GMT_HOOK_ANY(library, symbol, ...) extern char gmt_wrap_##symbol[];
#include "hooks/hooks.def"

#define GMT_HOOK_ANY(in_library, exported, base_name, first, in_mode, ...) \
	[GMT_HOOK_##exported] = { .symbol = #exported, \
		.base = #base_name, \
		.since = first, \
		.library = GMT_LIBRARY_##in_library, \
		.mode = GMT_STREAM_MODE_##in_mode, \
		.wrapper = gmt_wrap_##exported },
const struct gmt_hook_info gmt_hooks[GMT_HOOK_COUNT] = {
#include "hooks/hooks.def"
};

const char *gmt_library_name(enum gmt_library library)
{
	static const char *const names[] = {
		[GMT_LIBRARY_CUDA] = "cuda",
		[GMT_LIBRARY_CUDART] = "cudart",
		[GMT_LIBRARY_C10] = "c10",
	};

	return names[library];
}

/* Rejects most names quickly: while a program loads, dlsym gets thousands of names. */
static bool may_be_hooked(const char *symbol)
{
	return (symbol[0] == 'c' && symbol[1] == 'u') || strncmp(symbol, "_ZN3c10", 7) == 0;
}

enum gmt_hook gmt_hook_by_symbol(const char *symbol)
{
	if (!may_be_hooked(symbol))
		return GMT_HOOK_NONE;
	for (unsigned hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++)
		if (strcmp(gmt_hooks[hook].symbol, symbol) == 0)
			return hook;
	return GMT_HOOK_NONE;
}

enum gmt_hook gmt_hook_by_base(const char *base, uint32_t version, enum gmt_stream_mode mode)
{
	enum gmt_hook best = GMT_HOOK_NONE;

	for (unsigned hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++) {
		const struct gmt_hook_info *row = &gmt_hooks[hook];

		if (row->library != GMT_LIBRARY_CUDA || row->since > version ||
			strcmp(row->base, base) != 0)
			continue;
		if (row->mode == GMT_STREAM_MODE_PTDS && mode != GMT_STREAM_MODE_PTDS)
			continue;
		if (best == GMT_HOOK_NONE || row->since > gmt_hooks[best].since ||
			(row->since == gmt_hooks[best].since && row->mode == mode))
			best = hook;
	}
	return best != GMT_HOOK_NONE ? best : gmt_hook_by_symbol(base);
}
