/* SPDX-License-Identifier: MIT */
#include "reader/stacks/traces.h"

const uint32_t *gmt_traces_stack(const struct gmt_traces *traces, uint32_t stack,
	uint32_t *ret_count)
{
	const struct gmt_interned *entry = gmt_intern_get(&traces->stacks, stack);

	*ret_count = entry->length / sizeof(uint32_t);
	return entry->bytes;
}

const struct gmt_place *gmt_traces_place(const struct gmt_traces *traces, uint32_t place)
{
	return gmt_intern_get(&traces->places, place)->bytes;
}

bool gmt_traces_has_python(const struct gmt_traces *traces, uint32_t stack)
{
	uint32_t count;
	const uint32_t *places = gmt_traces_stack(traces, stack, &count);

	for (uint32_t i = 0; i < count; i++)
		if (gmt_traces_place(traces, places[i])->kind == GMT_PLACE_PYTHON)
			return true;
	return false;
}

const char *gmt_traces_string(const struct gmt_traces *traces, uint32_t string)
{
	return gmt_intern_get(&traces->strings, string)->bytes;
}
