/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STEPS_PERIOD_H
#define GMT_READER_STEPS_PERIOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The shortest period in which `tokens` repeat at their end: *ret_period tokens, over the last
 * *ret_length of them (at least half of all, and three periods). A beginning that is different (a
 * first call that sets things up) is left out so. *ret_period is 0 when there is none. O(count).
 * False when out of memory.
 */
bool gmt_period_find(const uint64_t *tokens, size_t count, size_t *ret_period, size_t *ret_length);

/*
 * Finds the period of the longest end of `tokens` that repeats `least` times or more, however short that end is compared
 * with all. *ret_period is 0 when there is none. O(count). False when out of memory.
 */
bool gmt_period_at_end(const uint64_t *tokens, size_t count, size_t least, size_t *ret_period);

#endif
