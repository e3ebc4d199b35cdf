/* SPDX-License-Identifier: MIT */
#include "options/option_value.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "options/rank_list.h"

enum { PART_BYTES = 32 };

/*
 * Splits a number and its unit; "" if there is no unit. Returns false if `text` has no valid number
 * at its beginning.
 */
static bool split(const char *text, uint64_t *ret_number, const char **ret_unit)
{
	char digits[PART_BYTES];
	size_t length = strspn(text, "0123456789");

	if (length >= sizeof(digits))
		return false;
	snprintf(digits, sizeof(digits), "%.*s", (int)length, text);
	*ret_unit = text + length;
	return gmt_text_parse_u64(digits, ret_number);
}

static bool is_within(const char *low_text, const char *high_text, const char *text)
{
	uint64_t low, high, number;
	const char *unit, *range_unit;

	if (!split(low_text, &low, &range_unit))
		return false;
	if (strchr("KMGT", *range_unit) && *range_unit)
		return gmt_text_parse_size(low_text, &low) && gmt_text_parse_size(high_text, &high) &&
			gmt_text_parse_size(text, &number) && number >= low && number <= high;
	return split(high_text, &high, &unit) && split(text, &number, &unit) &&
		strcmp(unit, range_unit) == 0 && number >= low && number <= high;
}

/* Returns whether `text` matches one alternative of `values`, which has this length. */
static bool matches_alternative(const char *value, size_t length, const char *text)
{
	char low[PART_BYTES], high[PART_BYTES];
	const char *dots = memmem(value, length, "..", 2);
	uint64_t bytes;

	if (length == 4 && memcmp(value, "SIZE", 4) == 0)
		return gmt_text_parse_size(text, &bytes);
	if (length == 5 && memcmp(value, "RANKS", 5) == 0)
		return gmt_rank_list_is_valid(text);
	if (!dots)
		return length && strlen(text) == length && memcmp(value, text, length) == 0;
	snprintf(low, sizeof(low), "%.*s", (int)(dots - value), value);
	snprintf(high, sizeof(high), "%.*s", (int)(value + length - (dots + 2)), dots + 2);
	return is_within(low, high, text);
}

bool gmt_option_value_is_allowed(const char *values, const char *text)
{
	if (strcmp(values, "TEXT") == 0)
		return *text;
	for (const char *at = values;;) {
		size_t length = strcspn(at, "|");

		if (matches_alternative(at, length, text))
			return true;
		if (!at[length])
			return false;
		at += length + 1;
	}
}

bool gmt_option_value_window(const char *text, struct gmt_window *ret_window)
{
	static const char *const units[] = {
		[GMT_WINDOW_EVENTS] = "",
		[GMT_WINDOW_SECONDS] = "s",
		[GMT_WINDOW_STEPS] = "steps",
	};
	uint64_t count;
	const char *unit;

	if (!split(text, &count, &unit))
		return false;
	for (unsigned i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(unit, units[i]) == 0) {
			*ret_window = (struct gmt_window){ (enum gmt_window_unit)i, count };
			return true;
		}
	return false;
}

bool gmt_option_value_size(const char *text, uint64_t *ret_bytes)
{
	if (strcmp(text, "none") == 0) {
		*ret_bytes = UINT64_MAX;
		return true;
	}
	return gmt_text_parse_size(text, ret_bytes);
}
