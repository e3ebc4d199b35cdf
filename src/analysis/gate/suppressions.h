/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_GATE_SUPPRESSIONS_H
#define GMT_ANALYSIS_GATE_SUPPRESSIONS_H

/*
 * Suppressions: findings that a team does not want to see. The syntax is that of LeakSanitizer:
 * lines `kind:pattern`, and `#` comments. The function, file and module of each frame of a stack
 * are searched for the pattern. It may match anywhere. `^` binds it to the beginning, `$` to the
 * end, and `*` matches any text.
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
	const char *path; /* the file that has it; NULL: built in */
	unsigned line;    /* its line in that file */
	uint64_t used;  /* number of findings that it matched */
	uint64_t bytes; /* sum of their bytes */
};

struct gmt_suppressions {
	struct gmt_arena arena;
	GMT_VEC(struct gmt_suppression) rows;
};

/* Adds the built-in suppressions (default_suppressions.def). */
enum gmt_status gmt_suppressions_add_defaults(struct gmt_suppressions *suppressions,
	struct gmt_error *error);

/*
 * Adds the lines of a file's text. Returns GMT_USAGE, with `path` and the line number, for a line
 * that is not a suppression.
 */
enum gmt_status gmt_suppressions_parse(struct gmt_suppressions *suppressions, const char *text,
	const char *path, struct gmt_error *error);

/*
 * Returns the first suppression of one of `kinds` (bits by enum gmt_suppression_kind) that matches
 * a frame of the stack. NULL: no suppression matches. The caller counts its use.
 */
struct gmt_suppression *gmt_suppressions_find(const struct gmt_suppressions *suppressions,
	unsigned kinds, const struct gmt_traces *traces, uint32_t stack);

/* Same as above, for one line of which only the function and the file are known. */
struct gmt_suppression *gmt_suppressions_find_line(const struct gmt_suppressions *suppressions,
	unsigned kinds, const char *function, const char *file);

/* Returns whether there is a suppression of one of `kinds` (bits by enum gmt_suppression_kind). */
bool gmt_suppressions_have(const struct gmt_suppressions *suppressions, unsigned kinds);

/* Returns the name of a kind: "leak", "growth" ... */
const char *gmt_suppression_kind_name(enum gmt_suppression_kind kind);

/* Returns whether the pattern matches `text`. An empty text never matches. */
bool gmt_suppression_matches(const char *pattern, const char *text);

void gmt_suppressions_fini(struct gmt_suppressions *suppressions);

#endif
