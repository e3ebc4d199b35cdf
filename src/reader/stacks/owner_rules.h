/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STACKS_OWNER_RULES_H
#define GMT_READER_STACKS_OWNER_RULES_H

/*
 * The rules of owners.rules and of files with the same syntax. A rule says what a matching frame
 * is:
 *
 * - skip: not an owner, look further out
 * - own: an owner
 * - lend: a library that passes what it allocates on to its own callers
 * - arena: an allocator that hands out parts of what it allocates
 *
 * For one thread.
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
	GMT_OWNER_LIBRARY,  /* a native frame, by its module's file name or path */
	/* a native frame, by its demangled name; together with FILE, a Python frame */
	GMT_OWNER_FUNCTION,
	GMT_OWNER_FILE,     /* a Python frame, by its file's name or path */
	GMT_OWNER_PACKAGE,  /* a native or Python frame, by its installed package */
	GMT_OWNER_KINDS,
};

struct gmt_owner_rule {
	enum gmt_owner_action action;
	const char *name;                      /* of the owner; "" if the rule names no owner */
	const char *patterns[GMT_OWNER_KINDS]; /* NULL: no condition */
};

/* Rules in the order in which they are tried. The first rule that matches decides. */
struct gmt_owner_rules {
	struct gmt_arena arena;
	GMT_VEC(struct gmt_owner_rule) rows;
};

/*
 * Appends the rules of a file's text. Returns GMT_USAGE, with `path` and the line number, if a line
 * is not a rule.
 */
enum gmt_status gmt_owner_rules_parse(struct gmt_owner_rules *rules, const char *text,
	const char *path, struct gmt_error *error);

/* Appends the built-in rules of owners.rules. */
enum gmt_status gmt_owner_rules_add_defaults(struct gmt_owner_rules *rules,
	struct gmt_error *error);

void gmt_owner_rules_fini(struct gmt_owner_rules *rules);

/* The properties of a frame, as in struct gmt_place. Strings may be "". */
struct gmt_owner_frame {
	bool is_python;
	const char *function, *file, *module;
};

struct gmt_owner_span {
	uint32_t first, count;
};

typedef GMT_VEC(struct gmt_owner_span) gmt_owner_spans;

/*
 * Caches, for each Python file or module, the rules that may match its frames. Only the name of the
 * function is left to check. There are few files for many frames. For one set of rules, which must
 * not change. Initialize with zeros. In the pairs, index 0 is for native and 1 for Python frames.
 */
struct gmt_owner_rule_cache {
	struct gmt_intern paths[2];
	gmt_owner_spans spans[2]; /* ranges of `rows`, by id of the path */
	GMT_VEC(uint32_t) rows; /* indexes of rules, in order */
};

/*
 * Finds the first rule that matches; *ret_rule is NULL if no rule matches. Returns false when out
 * of memory.
 */
bool gmt_owner_rules_find(const struct gmt_owner_rules *rules,
	struct gmt_owner_rule_cache *rule_cache, const struct gmt_owner_frame *frame,
	const struct gmt_owner_rule **ret_rule);

void gmt_owner_rule_cache_fini(struct gmt_owner_rule_cache *rule_cache);

/*
 * Returns the part of a path after site-packages/ or dist-packages/, or NULL if the file is not of
 * an installed package.
 */
const char *gmt_owner_package_of(const char *path);

#endif
