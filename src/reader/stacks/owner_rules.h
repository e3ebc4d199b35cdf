/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STACKS_OWNER_RULES_H
#define GMT_READER_STACKS_OWNER_RULES_H

/*
 * What a frame says about the owner of memory: the lines of owners.rules, and of files like it. A rule says
 * that a frame which fits it is one to look past (skip), an owner (own), a library that passes on to its
 * own callers what it got (lend), or an allocator that hands out pieces of what it gets (arena). One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/arena.h"
#include "containers/intern.h"
#include "base/status.h"
#include "containers/vec.h"

enum gmt_owner_action { GMT_OWNER_SKIP, GMT_OWNER_OWN, GMT_OWNER_LEND, GMT_OWNER_ARENA };

/* A condition of a rule. */
enum gmt_owner_kind {
	GMT_OWNER_LIBRARY,  /* a native frame, by its module's file name, or path */
	GMT_OWNER_FUNCTION, /* a native frame, by its demangled name; with FILE, a Python one */
	GMT_OWNER_FILE,     /* a Python frame, by its file's name, or path */
	GMT_OWNER_PACKAGE,  /* a frame of either kind, by the installed package that it lies in */
	GMT_OWNER_KINDS,
};

struct gmt_owner_rule {
	enum gmt_owner_action action;
	const char *name;                      /* of the owner; "" for a frame that says nothing of it */
	const char *patterns[GMT_OWNER_KINDS]; /* NULL: any */
};

/* In the order in which they are asked; the first that fits decides. */
struct gmt_owner_rules {
	struct gmt_arena arena;
	GMT_VEC(struct gmt_owner_rule) rows;
};

/*
 * Adds the lines of a file's text behind those that are there. GMT_USAGE, with `path` and the line, for one
 * that is no rule.
 */
enum gmt_status gmt_owner_rules_parse(struct gmt_owner_rules *rules, const char *text, const char *path,
	struct gmt_error *error);

/* Adds those of owners.rules. */
enum gmt_status gmt_owner_rules_add_defaults(struct gmt_owner_rules *rules, struct gmt_error *error);

void gmt_owner_rules_fini(struct gmt_owner_rules *rules);

/* What a frame is, as gmt_traces_place has it. Strings may be "". */
struct gmt_owner_frame {
	bool is_python;
	const char *function, *file, *module;
};

struct gmt_owner_span {
	uint32_t first, count;
};

typedef GMT_VEC(struct gmt_owner_span) gmt_owner_spans;

/*
 * Which rules may fit frames of a file of Python, or of a module: all that only the function's name can still tell.
 * There are few of these for many frames. Of one set of rules, which does not change meanwhile. Zero-initialise to
 * make one; the pairs are of native frames and of Python's.
 */
struct gmt_owner_sieve {
	struct gmt_intern paths[2];
	gmt_owner_spans spans[2]; /* of `rows`, by path */
	GMT_VEC(uint32_t) rows; /* numbers of rules, in order */
};

/* The first rule that fits; NULL when none does. False when out of memory. */
bool gmt_owner_rules_find(const struct gmt_owner_rules *rules, struct gmt_owner_sieve *sieve,
	const struct gmt_owner_frame *frame, const struct gmt_owner_rule **ret_rule);

void gmt_owner_sieve_fini(struct gmt_owner_sieve *sieve);

/* What stands behind site-packages/ or dist-packages/ in a path; NULL when it is of no installed package. */
const char *gmt_owner_package_of(const char *path);

#endif
