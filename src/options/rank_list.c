/* SPDX-License-Identifier: MIT */
#include "options/rank_list.h"

#include <stddef.h>
#include <string.h>

#include "options/recorder_options.h"

struct range {
	uint32_t first, last, step;
};

/* Reads a number of at most nine digits. Returns the address after it, or NULL. */
static const char *read_number(const char *at, uint32_t *ret_number)
{
	size_t digits = strspn(at, "0123456789");

	if (!digits || digits > 9)
		return NULL;
	*ret_number = 0;
	while (digits--)
		*ret_number = *ret_number * 10 + (uint32_t)(*at++ - '0');
	return at;
}

/* Reads a range. Returns the address after it, or NULL if it is not valid. */
static const char *read_range(const char *at, struct range *ret_range)
{
	*ret_range = (struct range){ .last = UINT32_MAX, .step = 1 };
	if (*at == '*') {
		at++;
	} else {
		at = read_number(at, &ret_range->first);
		if (!at)
			return NULL;
		ret_range->last = ret_range->first;
		if (*at == '-')
			at = read_number(at + 1, &ret_range->last);
		if (!at || ret_range->last < ret_range->first)
			return NULL;
	}
	if (*at == '/')
		at = read_number(at + 1, &ret_range->step);
	return at && ret_range->step ? at : NULL;
}

bool gmt_rank_list_is_valid(const char *text)
{
	struct range range;

	if (strlen(text) >= GMT_RECORDER_VALUE_BYTES)
		return false;
	for (const char *at = text;; at++) {
		at = read_range(at, &range);
		if (!at || (*at && *at != ','))
			return false;
		if (!*at)
			return true;
	}
}

bool gmt_rank_list_has(const char *text, int32_t rank)
{
	struct range range;

	if (rank < 0 || strcmp(text, "all") == 0)
		return true;
	for (const char *at = text; (at = read_range(at, &range)); at++) {
		if ((uint32_t)rank >= range.first && (uint32_t)rank <= range.last &&
			((uint32_t)rank - range.first) % range.step == 0)
			return true;
		if (!*at)
			return false;
	}
	return false;
}
