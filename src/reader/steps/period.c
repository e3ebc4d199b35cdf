/* SPDX-License-Identifier: MIT */
#include "reader/steps/period.h"

#include "containers/vec.h"

typedef GMT_VEC(uint32_t) borders_t; /* a recording has fewer than 2^32 events */

/* borders[m]: longest proper border of the last m tokens, read backward (Knuth, Morris, Pratt). */
static bool find_borders(const uint64_t *tokens, size_t count, borders_t *borders)
{
	const uint64_t *last = tokens + count - 1;

	if (!gmt_vec_reserve(borders, count + 1))
		return false;
	for (size_t m = 2, border = 0; m <= count; m++) {
		while (border && *(last - border) != *(last - (m - 1)))
			border = borders->items[border];
		border += *(last - border) == *(last - (m - 1));
		borders->items[m] = (uint32_t)border;
	}
	return true;
}

bool gmt_period_find(const uint64_t *tokens, size_t count, size_t *ret_period, size_t *ret_length)
{
	return gmt_period_find_at_least(tokens, count, count / 2 + count % 2, ret_period, ret_length);
}

bool gmt_period_find_at_least(const uint64_t *tokens, size_t count, size_t min, size_t *ret_period,
	size_t *ret_length)
{
	borders_t borders = { 0 };

	*ret_period = *ret_length = 0;
	if (count < 3)
		return true;
	if (!find_borders(tokens, count, &borders))
		return false;
	for (size_t m = count; !*ret_period && m >= 3 && m >= min; m--) {
		size_t period = m - borders.items[m];

		if (m >= 3 * period) {
			*ret_period = period;
			*ret_length = m;
		}
	}
	gmt_vec_fini(&borders);
	return true;
}

bool gmt_period_find_at_end(const uint64_t *tokens, size_t count, size_t min, size_t *ret_period)
{
	borders_t borders = { 0 };

	*ret_period = 0;
	if (count < min || min < 2)
		return true;
	if (!find_borders(tokens, count, &borders))
		return false;
	for (size_t m = count; !*ret_period && m >= min; m--)
		if (m >= min * (m - borders.items[m]))
			*ret_period = m - borders.items[m];
	gmt_vec_fini(&borders);
	return true;
}
