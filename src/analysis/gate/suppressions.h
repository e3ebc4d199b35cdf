/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_SUPPRESSIONS_H
#define GMT_ANALYSIS_GATE_SUPPRESSIONS_H

/*
 * What a team has decided not to hear of, in the syntax of LeakSanitizer: lines `kind:pattern`, `#`
 * comments. A pattern is looked for in the function, file and module of each frame of a stack: anywhere in
 * it, `^` binds it to the beginning, `$` to the end, `*` stands for anything.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/arena.h"
#include "base/status.h"
#include "containers/vec.h"
#include "reader/stacks/traces.h"

enum gmt_suppression_kind {
#define GMT_SUPPRESSION(NAME, name, meaning) GMT_SUPPRESSION_##NAME,
#include "analysis/gate/suppression_kinds.def"
#undef GMT_SUPPRESSION
	GMT_SUPPRESSION_KINDS,
};

struct gmt_suppression {
	enum gmt_suppression_kind kind;
	const char *pattern;
	const char *path; /* NULL: built in */
	unsigned line;
	uint64_t used;  /* findings that it matched */
	uint64_t bytes; /* of those */
};

struct gmt_suppressions {
	struct gmt_arena arena;
	GMT_VEC(struct gmt_suppression) rows;
};

/* Adds those of default_suppressions.def. */
enum gmt_status gmt_suppressions_add_defaults(struct gmt_suppressions *suppressions, struct gmt_error *error);

/* Adds the lines of a file's text; GMT_USAGE, with `path` and the line, for one that is none. */
enum gmt_status gmt_suppressions_parse(struct gmt_suppressions *suppressions, const char *text,
	const char *path, struct gmt_error *error);

/*
 * The first suppression of one of `kinds` (bits by enum gmt_suppression_kind) that matches a frame of the
 * stack; NULL when none does. The caller counts its use.
 */
struct gmt_suppression *gmt_suppressions_find(const struct gmt_suppressions *suppressions, unsigned kinds,
	const struct gmt_traces *traces, uint32_t stack);

/* Whether there is any of these kinds. */
bool gmt_suppressions_have(const struct gmt_suppressions *suppressions, unsigned kinds);

/* "leak" ... */
const char *gmt_suppression_kind_name(enum gmt_suppression_kind kind);

/* Whether the pattern occurs in `text`; never in an empty one. */
bool gmt_suppression_matches(const char *pattern, const char *text);

void gmt_suppressions_fini(struct gmt_suppressions *suppressions);

#endif
