/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct gmt_text three_digits(double value, const char *unit)
{
	struct gmt_text text;
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

	snprintf(text.text, sizeof(text.text), "%.*f %s", decimals, value, unit);
	return text;
}

struct gmt_text gmt_text_size(uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	struct gmt_text text;

	if (bytes < 1024) {
		snprintf(text.text, sizeof(text.text), "%" PRIu64 " B", bytes);
		return text;
	}

	double value = (double)bytes / 1024;
	size_t unit = 0;
	/* 1023.5 would print as "1024 KiB". */
	for (; value >= 1023.5 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		value /= 1024;
	return three_digits(value, units[unit]);
}

struct gmt_text gmt_text_count(uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	struct gmt_text text;
	char *out = text.text;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = 0;
	return text;
}

struct gmt_text gmt_text_duration(uint64_t time_ns)
{
	struct gmt_text text;
	uint64_t seconds = time_ns / 1000000000;

	if (time_ns < 1000)
		snprintf(text.text, sizeof(text.text), "%" PRIu64 " ns", time_ns);
	else if (time_ns < 1000000)
		text = three_digits((double)time_ns / 1e3, "us");
	else if (time_ns < 1000000000)
		text = three_digits((double)time_ns / 1e6, "ms");
	else if (seconds < 120)
		text = three_digits((double)time_ns / 1e9, "s");
	else if (seconds < 7200)
		snprintf(text.text, sizeof(text.text), "%" PRIu64 " min %02" PRIu64 " s", seconds / 60,
			seconds % 60);
	else
		snprintf(text.text, sizeof(text.text), "%" PRIu64 " h %02" PRIu64 " min", seconds / 3600,
			seconds / 60 % 60);
	return text;
}

/*
 * Reads leading digits. Returns the address after them, or NULL if there are no digits or too many.
 */
static const char *parse_digits(const char *text, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return NULL;
	*ret_value = value;
	return at == text ? NULL : at;
}

bool gmt_text_parse_size(const char *text, uint64_t *ret_bytes)
{
	static const char letters[] = "KMGTPE";
	uint64_t value;
	const char *at = parse_digits(text, &value);

	if (!at)
		return false;
	if (*at == ' ' && at[1])
		at++;

	const char *letter = *at ? strchr(letters, *at == 'k' ? 'K' : *at) : NULL;
	if (letter) {
		if (__builtin_mul_overflow(value, (uint64_t)1 << (10 * (letter - letters + 1)), &value))
			return false;
		at++;
	}
	if (letter && *at == 'i' && at[1] == 'B')
		at += 2;
	else if (*at == 'B')
		at++;
	if (*at)
		return false;
	*ret_bytes = value;
	return true;
}

/* Returns the nanoseconds of a unit of time, or 0. */
static uint64_t unit_ns(const char *unit)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "ns", 1 },
		{ "us", 1000 },
		{ "ms", 1000000 },
		{ "s", 1000000000 },
		{ "min", UINT64_C(60) * 1000000000 },
		{ "h", UINT64_C(3600) * 1000000000 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].ns;
	return 0;
}

bool gmt_text_parse_time(const char *text, uint64_t *ret_time_ns)
{
	uint64_t whole, ns = 0, unit;
	const char *at = parse_digits(text, &whole), *fraction = NULL;

	if (!at)
		return false;
	if (*at == '.') {
		fraction = ++at;
		at += strspn(at, "0123456789");
		if (at == fraction)
			return false;
	}
	if (*at == ' ' && at[1])
		at++;
	unit = *at ? unit_ns(at) : !fraction;
	if (!unit || __builtin_mul_overflow(whole, unit, &ns))
		return false;
	/* No unit has more than 13 digits, so later digits of a fraction are below a nanosecond. */
	for (uint64_t digit_ns = unit / 10; fraction && *fraction >= '0' && *fraction <= '9';
		fraction++, digit_ns /= 10)
		if (__builtin_add_overflow(ns, digit_ns * (uint64_t)(*fraction - '0'), &ns))
			return false;
	*ret_time_ns = ns;
	return true;
}

bool gmt_text_parse_u64(const char *text, uint64_t *ret_value)
{
	uint64_t value;
	const char *end = parse_digits(text, &value);

	if (!end || *end)
		return false;
	*ret_value = value;
	return true;
}

size_t gmt_text_utf8_length(const unsigned char *at, size_t left)
{
	size_t length = *at < 0x80      ? 1
		: *at >= 0xc2 && *at < 0xe0 ? 2
		: (*at & 0xf0) == 0xe0      ? 3
		: *at >= 0xf0 && *at < 0xf5 ? 4
									: 0;

	if (!length || length > left)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong forms, surrogates, and values above the last code point are invalid. */
	if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] >= 0xa0) ||
		(*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] >= 0x90))
		return 0;
	return length;
}

uint32_t gmt_text_utf8_code_point(const unsigned char *at, size_t length)
{
	uint32_t character = length < 2 ? *at : *at & (0x7fu >> length);

	for (size_t i = 1; i < length; i++)
		character = character << 6 | (at[i] & 0x3f);
	return character;
}

size_t gmt_text_cut_length(const char *text, size_t length, size_t max_bytes)
{
	if (length <= max_bytes)
		return length;
	for (size_t cut = max_bytes; cut > max_bytes - 4; cut--)
		if (((unsigned char)text[cut] & 0xc0) != 0x80)
			return cut;
	return max_bytes;
}

const char *gmt_text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void gmt_text_copy(char *ret_copy, size_t bytes, const char *text)
{
	size_t length = gmt_text_cut_length(text, strlen(text), bytes - 1);

	memcpy(ret_copy, text, length);
	ret_copy[length] = 0;
}

const char *gmt_text_tail(const char *text, size_t max_bytes)
{
	size_t length = strlen(text);

	text += length > max_bytes ? length - max_bytes : 0;
	for (int i = 0; i < 3 && length > max_bytes && ((unsigned char)*text & 0xc0) == 0x80; i++)
		text++;
	return text;
}
