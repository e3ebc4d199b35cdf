/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_PERIOD_H
#define GMT_READER_STEPS_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Finds the longest suffix of `tokens` that repeats a period three times or more and has at least
 * half of all tokens. So a different beginning, such as a first call that allocates more, is left
 * out. Sets *ret_length to the length of the suffix, and *ret_period to that of its shortest
 * period; to 0 if there is no such suffix. O(count). Returns false when out of memory.
 */
bool gmt_period_find(const uint64_t *tokens, size_t count, size_t *ret_period, size_t *ret_length);

/* Same as gmt_period_find, except that the suffix has at least `min` tokens. */
bool gmt_period_find_at_least(const uint64_t *tokens, size_t count, size_t min, size_t *ret_period,
	size_t *ret_length);

/*
 * Finds the period of the longest suffix of `tokens` that repeats a period `min` times or more. The
 * suffix may be short compared with all tokens. Sets *ret_period to 0 if there is no such suffix.
 * O(count). Returns false when out of memory.
 */
bool gmt_period_find_at_end(const uint64_t *tokens, size_t count, size_t min, size_t *ret_period);

#endif
