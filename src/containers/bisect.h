/* SPDX-License-Identifier: MIT */
#ifndef GMT_CONTAINERS_BISECT_H
#define GMT_CONTAINERS_BISECT_H

#include <stddef.h>

/*
 * Returns the first index of [0, count) for which `is_before` is false; `count` if it is true for
 * all. `is_before` is an expression with the index `at`: true up to some index, false from there
 * on.
 */
#define GMT_BISECT(at, count, is_before) \
	__extension__({ \
		size_t bisect_low = 0, bisect_high = (count); \
		while (bisect_low < bisect_high) { \
			size_t at = bisect_low + (bisect_high - bisect_low) / 2; \
			if (is_before) \
				bisect_low = at + 1; \
			else \
				bisect_high = at; \
		} \
		bisect_low; \
	})

#endif
