/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_PERIOD_H
#define GMT_READER_STEPS_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Finds the shortest period with which `tokens` repeat at their end. Sets *ret_period to its
 * length, and *ret_length to the number of last tokens that repeat. These are at least half of all
 * tokens and three periods. So a different beginning (a first call that prepares things) is left
 * out. Sets *ret_period to 0 if there is no period. O(count). Returns false when out of memory.
 */
bool gmt_period_find(const uint64_t *tokens, size_t count, size_t *ret_period, size_t *ret_length);

/* Same as gmt_period_find, except that at least the last `least` tokens must repeat. */
bool gmt_period_find_of(const uint64_t *tokens, size_t count, size_t least, size_t *ret_period,
	size_t *ret_length);

/*
 * Finds the period of the longest end of `tokens` that repeats `min` times or more. The end may
 * be short compared with all tokens. Sets *ret_period to 0 if there is no period. O(count). Returns
 * false when out of memory.
 */
bool gmt_period_at_end(const uint64_t *tokens, size_t count, size_t min, size_t *ret_period);

#endif
