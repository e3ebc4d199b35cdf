/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_LIMITS_H
#define GMT_ANALYSIS_GATE_LIMITS_H

/* What `gpumemtrace check` demands, from options and from limits files (limits.def; docs/ci.md). */

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"

enum gmt_limit_key {
#define GMT_LIMIT(NAME, key, value, meaning) GMT_LIMIT_##NAME,
#include "analysis/gate/limits.def"
#undef GMT_LIMIT
	GMT_LIMITS,
};

enum { GMT_LIMIT_EVERY_GPU = -3 }; /* no device of a recording has this number */

struct gmt_limit_peak {
	uint32_t layer; /* 0: every one */
	int32_t device; /* GMT_LIMIT_EVERY_GPU, GMT_DEVICE_HOST, or one */
	uint64_t bytes;
};

struct gmt_limits {
	uint64_t max_leaked_bytes;
	double max_growth_bytes; /* per step */
	GMT_VEC(struct gmt_limit_peak) peaks;
	double max_fragmentation; /* below 0: not judged */
	uint64_t max_ooms;
	double tolerance; /* 0.02 is 2 % */
	double min_confidence; /* 0..1, of growth that counts */
	uint32_t warmup_steps; /* UINT32_MAX: not given */
	uint32_t definitions;  /* bits by enum gmt_leak_definition; 0: not given */
	uint32_t age_steps;    /* UINT32_MAX: not by steps */
	uint64_t age_ns;       /* UINT64_MAX: not by time */
	bool given[GMT_LIMITS];
};

/* With the defaults. Ended by gmt_limits_fini. */
struct gmt_limits gmt_limits_default(void);

/*
 * Sets one limit from its text; what was set before under the key goes, but for another max-peak since
 * the last gmt_limits_override. `where` ("--max-peak", "limits:3") begins the message when it fails.
 */
enum gmt_status gmt_limits_set(struct gmt_limits *limits, enum gmt_limit_key key, const char *value,
	const char *where, struct gmt_error *error);

/* From here on, a key that is set replaces all that a limits file said under it. */
void gmt_limits_override(struct gmt_limits *limits, enum gmt_limit_key key);

/*
 * Reads the text of a limits file: `key = value` lines, `#` comments. Unknown keys, keys given twice and
 * bad values fail with GMT_USAGE and a line that names `path`, the line and what to write.
 */
enum gmt_status gmt_limits_parse(struct gmt_limits *limits, const char *text, const char *path,
	struct gmt_error *error);

/* Whether growth was asked for, so that a recording in which it cannot be judged cannot pass. */
bool gmt_limits_ask_for_growth(const struct gmt_limits *limits);

/* After all are set: whether they fit together (GMT_USAGE: what to write). */
enum gmt_status gmt_limits_check(const struct gmt_limits *limits, struct gmt_error *error);

const char *gmt_limit_key_text(enum gmt_limit_key key);

/*
 * Bytes from "1.5 GiB", "0", "512 B". False, with what to write instead in `error`, for units that are
 * powers of 1000, for numbers without a unit and anything else.
 */
bool gmt_limits_parse_bytes(const char *text, uint64_t *ret_bytes, struct gmt_error *error);

void gmt_limits_fini(struct gmt_limits *limits);

#endif
