/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_OPTIONS_MOMENT_H
#define GMT_TOOLS_OPTIONS_MOMENT_H

/* A moment of a recording, as the user types it: `--until=4s`, `step:12`, `peak`, `end`, `oom`. */

#include <stdbool.h>
#include <stdint.h>

enum gmt_moment_kind {
	GMT_MOMENT_NOT_GIVEN, /* the end of the recording */
	GMT_MOMENT_TIME,
	GMT_MOMENT_STEP, /* the end of a step of the first series */
	GMT_MOMENT_PEAK, /* the peak of the memory that the overview shows */
	GMT_MOMENT_END,  /* the end of the program's work */
	GMT_MOMENT_OOM,  /* the first failed request */
};

/* The values and the meaning of an option for a moment, in the help text. */
#define GMT_MOMENT_VALUES "4s|step:N|peak|end|oom"
#define GMT_MOMENT_MEANING \
	"a time since the recording began, the end of a step, the peak, the end of the program's " \
	"work, the first failed request; a number without a unit is nanoseconds " \
	"(from 10^17 on: since 1970)"

struct gmt_moment {
	enum gmt_moment_kind kind;
	/*
	 * For a step: its number. For a time: nanoseconds since the recording began; from 10^17 on,
	 * since the Unix epoch.
	 */
	uint64_t value;
	bool has_unit; /* the time has a unit, so it is always since the recording began */
};

/* Parses a moment. Returns false if `text` is not a moment. */
bool gmt_moment_parse(const char *text, struct gmt_moment *ret_moment);

#endif
