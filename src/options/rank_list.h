/* SPDX-License-Identifier: MIT */
#ifndef GMT_OPTIONS_RANK_LIST_H
#define GMT_OPTIONS_RANK_LIST_H

/*
 * A list of ranks: "0,8-15", "*" for all ranks, and "/8" after a range or a "*" for every eighth
 * rank of it: "0-63/8". Pure functions; no allocation; any thread.
 */

#include <stdbool.h>
#include <stdint.h>

/* Returns whether `text` is such a list, short enough for the value of an option. */
bool gmt_rank_list_is_valid(const char *text);

/*
 * Returns whether a valid list contains the rank. The word "all" contains every rank. Every list
 * contains rank -1, which means that the rank is not known.
 */
bool gmt_rank_list_has(const char *text, int32_t rank);

#endif
