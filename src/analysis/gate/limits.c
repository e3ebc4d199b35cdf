/* SPDX-License-Identifier: MIT */
#include "analysis/gate/limits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/leaks/leaks.h"
#include "base/text.h"
#include "format/format.h"

static const char *const keys[] = {
#define GMT_LIMIT(NAME, key, ...) key,
#include "analysis/gate/limits.def"
#undef GMT_LIMIT
};

static const char *const definitions[] = {
#define GMT_LEAK_DEFINITION(NAME, name, meaning) name,
#include "analysis/leaks/leak_definitions.def"
#undef GMT_LEAK_DEFINITION
};

const char *gmt_limit_key_text(enum gmt_limit_key key)
{
	return keys[key];
}

struct gmt_limits gmt_limits_default(void)
{
	return (struct gmt_limits){
#define GMT_LIMIT(NAME, key, value_name, meaning, type, member, initial, ...) .member = initial,
#include "analysis/gate/limits.def"
#undef GMT_LIMIT
	};
}

void gmt_limits_fini(struct gmt_limits *limits)
{
	gmt_vec_fini(&limits->peaks.rows);
}

bool gmt_limits_ask_for_growth(const struct gmt_limits *limits)
{
	return limits->is_set[GMT_LIMIT_MAX_GROWTH] || limits->is_set[GMT_LIMIT_WARMUP] ||
		(limits->definitions & GMT_LEAK_BY_STEPS);
}

enum gmt_status gmt_limits_check(const struct gmt_limits *limits, struct gmt_error *error)
{
	bool by_age = limits->definitions & 1u << GMT_LEAK_AGE;

	if (by_age && !limits->is_set[GMT_LIMIT_MAX_AGE])
		return gmt_error_set(error, GMT_USAGE,
			"definition `age` needs a maximum age: write --max-age=100steps or --max-age=30s");
	if (!by_age && limits->is_set[GMT_LIMIT_MAX_AGE])
		return gmt_error_set(error, GMT_USAGE,
			"max-age has no effect without definition `age`: write --definition=growth,phase,age");
	return GMT_OK;
}

/*
 * Parses a decimal number without sign, exponent or locale. Returns the position after it, or NULL
 * if there is no number.
 */
static const char *read_number(const char *text, double *ret_number)
{
	double number = 0, scale = 1;
	const char *at = text;

	for (; isdigit((unsigned char)*at); at++)
		number = number * 10 + (*at - '0');
	if (at == text)
		return NULL;
	if (*at == '.') {
		if (!isdigit((unsigned char)at[1]))
			return NULL;
		for (at++; isdigit((unsigned char)*at); at++)
			number += (*at - '0') * (scale /= 10);
	}
	*ret_number = number;
	return at;
}

static const char *skip_spaces(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

static const char units[] = "BKMGT";

static bool is_whole(double number)
{
	return number < 0x1p62 && number == (double)(uint64_t)number;
}

/* Sets an error that suggests the correct unit for "18GB", "18G", "18g". */
static enum gmt_status bad_unit(const char *text, int digits, const char *unit,
	struct gmt_error *error)
{
	const char *known =
		*unit && strlen(unit) <= 3 ? strchr("KMGT", toupper((unsigned char)*unit)) : NULL;

	if (known)
		return gmt_error_set(error, GMT_USAGE, "`%s`: units are powers of 1024: write %.*s%ciB",
			text, digits, text, *known);
	if (!*unit)
		return gmt_error_set(error, GMT_USAGE, "`%s` has no unit: write %sB, or KiB, MiB, GiB, TiB",
			text, text);
	return gmt_error_set(error, GMT_USAGE, "`%s` is not a size: write 512MiB, 1.5GiB or 0", text);
}

bool gmt_limits_parse_bytes(const char *text, uint64_t *ret_bytes, struct gmt_error *error)
{
	double number;
	const char *end = read_number(text, &number);

	if (!end) {
		gmt_error_set(error, GMT_USAGE, "`%s` is not a size: write 512MiB, 1.5GiB or 0", text);
		return false;
	}

	const char *unit = skip_spaces(end), *known = *unit ? strchr(units, *unit) : NULL;
	bool is_bytes = strcmp(unit, "B") == 0 || (!*unit && number == 0);
	if (!is_bytes && (!known || *unit == 'B' || strcmp(unit + 1, "iB") != 0)) {
		bad_unit(text, (int)(end - text), unit, error);
		return false;
	}

	double bytes = number * (double)((uint64_t)1 << (is_bytes ? 0 : (known - units) * 10));
	if (bytes > 0x1p61 || (is_bytes && !is_whole(bytes))) {
		gmt_error_set(error, GMT_USAGE, "`%s` is too large, or not a whole number of bytes", text);
		return false;
	}
	*ret_bytes = (uint64_t)bytes;
	return true;
}

static enum gmt_status read_size(const char *value, uint64_t *ret_bytes, struct gmt_error *error)
{
	return gmt_limits_parse_bytes(value, ret_bytes, error) ? GMT_OK : GMT_USAGE;
}

static enum gmt_status read_growth(const char *value, double *ret_bytes, struct gmt_error *error)
{
	static const char suffix[] = "/step";
	size_t length = strlen(value), tail = sizeof(suffix) - 1;
	char size[64];
	uint64_t bytes;

	if (length > tail && strcmp(value + length - tail, suffix) == 0)
		length -= tail;
	else if (strcmp(value, "0") != 0)
		return gmt_error_set(error, GMT_USAGE, "`%s`: growth is per step: write %s/step", value,
			value);
	snprintf(size, sizeof(size), "%.*s", (int)(length < 60 ? length : 60), value);
	for (char *end = size + strlen(size); end > size && end[-1] == ' ';)
		*--end = 0;
	if (!gmt_limits_parse_bytes(size, &bytes, error))
		return GMT_USAGE;
	*ret_bytes = (double)bytes;
	return GMT_OK;
}

/* Parses the memory that a peak limit is for: "torch", "cuda:1", "host". */
static bool read_selector(const char *text, size_t length, struct gmt_limit_peak *ret_peak)
{
	static const struct {
		const char *name;
		uint32_t number;
	} layers[] = {
#define GMT_LAYER(number, NAME, name, ...) { name, number },
#include "format/layers.def"
#undef GMT_LAYER
	};
	while (length && text[length - 1] == ' ')
		length--;

	const char *colon = memchr(text, ':', length);
	size_t name = colon ? (size_t)(colon - text) : length;
	char digits[12] = "";
	uint64_t device;

	*ret_peak = (struct gmt_limit_peak){ .device = GMT_LIMIT_EVERY_GPU };
	if (length == 4 && memcmp(text, "host", 4) == 0) {
		ret_peak->device = GMT_DEVICE_HOST;
		return true;
	}
	for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++)
		if (strlen(layers[i].name) == name && memcmp(text, layers[i].name, name) == 0)
			ret_peak->layer = layers[i].number;
	if (!ret_peak->layer)
		return false;
	if (!colon)
		return true;
	snprintf(digits, sizeof(digits), "%.*s", (int)(length - name - 1 < 11 ? length - name - 1 : 11),
		colon + 1);
	if (!gmt_text_parse_u64(digits, &device) || device > INT16_MAX)
		return false;
	ret_peak->device = (int32_t)device;
	return true;
}

static enum gmt_status add_peak(const char *value, struct gmt_limit_peaks *peaks,
	struct gmt_error *error)
{
	const char *equals = strchr(value, '=');
	struct gmt_limit_peak peak = { .device = GMT_LIMIT_EVERY_GPU };

	if (equals && !read_selector(value, (size_t)(equals - value), &peak))
		return gmt_error_set(error, GMT_USAGE,
			"`%s` names unknown memory: write torch=SIZE, cuda=SIZE, torch:0=SIZE or host=SIZE",
			value);
	if (!gmt_limits_parse_bytes(skip_spaces(equals ? equals + 1 : value), &peak.bytes, error))
		return GMT_USAGE;
	for (size_t i = 0; i < peaks->rows.count; i++)
		if (peaks->rows.items[i].layer == peak.layer && peaks->rows.items[i].device == peak.device)
			return gmt_error_set(error, GMT_USAGE,
				"`%s` is the second max-peak for the same memory: remove one", value);

	struct gmt_limit_peak *row = gmt_vec_push(&peaks->rows);
	if (!row)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	*row = peak;
	return GMT_OK;
}

static enum gmt_status read_definitions(const char *value, uint32_t *ret_definitions,
	struct gmt_error *error)
{
	*ret_definitions = 0;
	for (const char *at = value;; at++) {
		size_t length = strcspn(at, ", "), found = GMT_LEAK_DEFINITIONS;

		for (size_t i = 0; i < GMT_LEAK_DEFINITIONS; i++)
			if (strlen(definitions[i]) == length && memcmp(definitions[i], at, length) == 0)
				found = i;
		if (found == GMT_LEAK_DEFINITIONS && (length || at[length] != ' '))
			return gmt_error_set(error, GMT_USAGE,
				"`%.*s` is not a definition of a leak: "
				"write growth, unexplained, phase, age or exit, separated by commas",
				(int)length, at);
		if (found < GMT_LEAK_DEFINITIONS)
			*ret_definitions |= 1u << found;
		at += length;
		if (!*at)
			return GMT_OK;
	}
}

static enum gmt_status read_age(const char *value, struct gmt_limit_age *ret_age,
	struct gmt_error *error)
{
	static const struct {
		const char *name;
		double factor;
	} times[] = {
		{ "ms", 1e6 },
		{ "s", 1e9 },
		{ "min", 60e9 },
		{ "h", 3600e9 },
	};
	double number;
	const char *end = read_number(value, &number), *unit = end ? skip_spaces(end) : "";

	*ret_age = (struct gmt_limit_age)GMT_LIMIT_NO_AGE;
	if (end && (strcmp(unit, "steps") == 0 || strcmp(unit, "step") == 0) && is_whole(number) &&
		number < UINT32_MAX) {
		ret_age->steps = (uint32_t)number;
		return GMT_OK;
	}
	for (size_t i = 0; end && i < sizeof(times) / sizeof(*times); i++)
		if (strcmp(unit, times[i].name) == 0 && number * times[i].factor < 0x1p62) {
			ret_age->ns = (uint64_t)(number * times[i].factor);
			return GMT_OK;
		}
	return gmt_error_set(error, GMT_USAGE, "`%s` is not an age: write 100steps, 30s, 5min or 2h",
		value);
}

static enum gmt_status read_number_up_to(const char *value, uint64_t max, uint64_t *ret_number,
	struct gmt_error *error)
{
	if (gmt_text_parse_u64(value, ret_number) && *ret_number <= max)
		return GMT_OK;
	return gmt_error_set(error, GMT_USAGE, "`%s` is not a count: write a whole number", value);
}

static enum gmt_status read_count(const char *value, uint64_t *ret_count, struct gmt_error *error)
{
	return read_number_up_to(value, UINT64_MAX, ret_count, error);
}

static enum gmt_status read_steps(const char *value, uint32_t *ret_steps, struct gmt_error *error)
{
	uint64_t number = 0;
	enum gmt_status status = read_number_up_to(value, UINT32_MAX - 1, &number, error);

	*ret_steps = (uint32_t)number;
	return status;
}

static enum gmt_status read_percent(const char *value, const char *what, double max_percent,
	double *ret_fraction, struct gmt_error *error)
{
	double number;
	const char *end = read_number(value, &number);

	if (!end || strcmp(skip_spaces(end), "%") != 0 || number > max_percent)
		return gmt_error_set(error, GMT_USAGE, "`%s` is not a %s: write 2%% or 0.5%%", value, what);
	*ret_fraction = number / 100;
	return GMT_OK;
}

static enum gmt_status read_tolerance(const char *value, double *ret_fraction,
	struct gmt_error *error)
{
	return read_percent(value, "tolerance", 10000, ret_fraction, error);
}

static enum gmt_status read_spread(const char *value, double *ret_fraction, struct gmt_error *error)
{
	return read_percent(value, "spread", 100000, ret_fraction, error);
}

static enum gmt_status read_confidence(const char *value, double *ret_fraction,
	struct gmt_error *error)
{
	return read_percent(value, "confidence", 100, ret_fraction, error);
}

static enum gmt_status read_ratio(const char *value, double *ret_ratio, struct gmt_error *error)
{
	double number;
	const char *end = read_number(value, &number);

	if (!end || *end || number < 1)
		return gmt_error_set(error, GMT_USAGE,
			"`%s` is not a ratio of at least 1: write 1.5 if PyTorch may reserve 1.5 times what it "
			"allocates",
			value);
	*ret_ratio = number;
	return GMT_OK;
}

static enum gmt_status set_value(struct gmt_limits *limits, enum gmt_limit_key key,
	const char *value, struct gmt_error *error)
{
	switch (key) {
#define GMT_LIMIT(NAME, key, value_name, meaning, type, member, initial, read, ...) \
	case GMT_LIMIT_##NAME: \
		return read(value, &limits->member, error);
#include "analysis/gate/limits.def"
#undef GMT_LIMIT
	case GMT_LIMITS:
		break;
	}
	return GMT_USAGE;
}

enum gmt_status gmt_limits_set(struct gmt_limits *limits, enum gmt_limit_key key, const char *value,
	const char *location, struct gmt_error *error)
{
	struct gmt_error inner = { 0 };
	enum gmt_status status = set_value(limits, key, value, &inner);

	if (status)
		return gmt_error_set(error, status, "%s: %s", location, inner.text);
	limits->is_set[key] = true;
	return GMT_OK;
}

void gmt_limits_override(struct gmt_limits *limits, enum gmt_limit_key key)
{
	if (key == GMT_LIMIT_MAX_PEAK)
		limits->peaks.rows.count = 0;
}

/* Copies the line into `line`, without its comment and surrounding spaces. */
static void copy_trimmed_line(const char *text, size_t length, char *line, size_t size)
{
	const char *comment = memchr(text, '#', length);

	length = comment ? (size_t)(comment - text) : length;
	while (length && isspace((unsigned char)*text))
		text++, length--;
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	snprintf(line, size, "%.*s", (int)(length < size ? length : size - 1), text);
}

static enum gmt_status parse_line(struct gmt_limits *limits, char *line, bool *is_set,
	const char *location, struct gmt_error *error)
{
	char *equals = strchr(line, '=');
	size_t key = 0;

	if (!equals)
		return gmt_error_set(error, GMT_USAGE,
			"%s: `%s` is not a line of a limits file: write key = value", location, line);
	const char *value = skip_spaces(equals + 1);
	while (equals > line && isspace((unsigned char)equals[-1]))
		equals--;
	*equals = 0;
	while (key < GMT_LIMITS && strcmp(keys[key], line) != 0)
		key++;
	if (key == GMT_LIMITS)
		return gmt_error_set(error, GMT_USAGE,
			"%s: unknown limit `%s`; `gpumemtrace check --help` lists the limits", location, line);
	if (is_set[key] && key != GMT_LIMIT_MAX_PEAK)
		return gmt_error_set(error, GMT_USAGE, "%s: `%s` is given twice", location, line);
	is_set[key] = true;
	return gmt_limits_set(limits, (enum gmt_limit_key)key, value, location, error);
}

enum gmt_status gmt_limits_parse(struct gmt_limits *limits, const char *text, const char *path,
	struct gmt_error *error)
{
	bool is_set[GMT_LIMITS] = { 0 };
	unsigned number = 1;

	for (const char *at = text; *at; number++) {
		size_t length = strcspn(at, "\n");
		char line[512], location[600];

		snprintf(location, sizeof(location), "%.500s:%u", path, number);
		copy_trimmed_line(at, length, line, sizeof(line));
		if (*line) {
			enum gmt_status status = parse_line(limits, line, is_set, location, error);
			if (status)
				return status;
		}
		at += length + (at[length] == '\n');
	}
	return GMT_OK;
}
