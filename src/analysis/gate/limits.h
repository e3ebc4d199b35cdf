/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_LIMITS_H
#define GMT_ANALYSIS_GATE_LIMITS_H

/*
 * The limits of `gpumemtrace check`, from options and from limits files (limits.def; docs/ci.md).
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"

enum gmt_limit_key {
#define GMT_LIMIT(NAME, ...) GMT_LIMIT_##NAME,
#include "analysis/gate/limits.def"
#undef GMT_LIMIT
	GMT_LIMITS,
};

enum { GMT_LIMIT_EVERY_GPU = -3 }; /* no device in a recording has this number */

struct gmt_limit_peak {
	uint32_t layer; /* 0: every layer */
	int32_t device; /* GMT_LIMIT_EVERY_GPU, GMT_DEVICE_HOST, or the number of a GPU */
	uint64_t bytes;
};

struct gmt_limit_peaks {
	GMT_VEC(struct gmt_limit_peak) rows;
};

struct gmt_limit_age {
	uint32_t steps; /* UINT32_MAX: no limit in steps */
	uint64_t ns;    /* UINT64_MAX: no limit in time */
};

#define GMT_LIMIT_NO_AGE { UINT32_MAX, UINT64_MAX }

/*
 * The values of limits.def. Growth is in bytes per step. Below 0, the ratio of fragmentation is not
 * judged. 0.02 is 2 %. `warmup_steps` is UINT32_MAX if it was not given. `definitions` has a bit
 * for each enum gmt_leak_definition. 0: not given.
 */
struct gmt_limits {
#define GMT_LIMIT(NAME, key, value_name, meaning, type, member, ...) type member;
#include "analysis/gate/limits.def"
#undef GMT_LIMIT
	bool is_set[GMT_LIMITS];
};

/* Returns the default limits. End them with gmt_limits_fini. */
struct gmt_limits gmt_limits_default(void);

/*
 * Sets one limit from its text. It replaces the previous value of the key. Exception: max-peak adds
 * a limit to those set since the last gmt_limits_override. On failure the message begins with
 * `location` ("--max-peak", "limits:3").
 */
enum gmt_status gmt_limits_set(struct gmt_limits *limits, enum gmt_limit_key key, const char *value,
	const char *location, struct gmt_error *error);

/*
 * Discards what a limits file set for a key, before the first option with that key is set. Only
 * max-peak needs it, because its values add up.
 */
void gmt_limits_override(struct gmt_limits *limits, enum gmt_limit_key key);

/*
 * Parses the text of a limits file: `key = value` lines and `#` comments. Returns GMT_USAGE for
 * unknown keys, repeated keys and bad values. The message has `path`, the line number and the
 * correct syntax.
 */
enum gmt_status gmt_limits_parse(struct gmt_limits *limits, const char *text, const char *path,
	struct gmt_error *error);

/*
 * Returns whether the user asked for growth. Then a recording in which growth cannot be judged must
 * not pass.
 */
bool gmt_limits_ask_for_growth(const struct gmt_limits *limits);

/*
 * Checks, after all limits are set, that they fit together. Otherwise returns GMT_USAGE, with the
 * correct syntax in `error`.
 */
enum gmt_status gmt_limits_check(const struct gmt_limits *limits, struct gmt_error *error);

const char *gmt_limit_key_text(enum gmt_limit_key key);

/*
 * Parses a size: "1.5 GiB", "0", "512 B". Returns false, with the correct syntax in `error`, for
 * units that are powers of 1000, for numbers without a unit, and for any other text.
 */
bool gmt_limits_parse_bytes(const char *text, uint64_t *ret_bytes, struct gmt_error *error);

void gmt_limits_fini(struct gmt_limits *limits);

#endif
