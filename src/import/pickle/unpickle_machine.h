/* SPDX-License-Identifier: MIT */
#ifndef GMT_IMPORT_PICKLE_UNPICKLE_MACHINE_H
#define GMT_IMPORT_PICKLE_UNPICKLE_MACHINE_H

/* A pickle is a program. This machine executes it: a stack of values with marks, and a memo. */

#include "import/pickle/unpickle.h"

struct gmt_unpickle_machine {
	struct gmt_unpickle *unpickle;
	GMT_VEC(struct gmt_unpickled) stack;
	GMT_VEC(size_t) marks; /* heights of the stack */
	GMT_VEC(struct gmt_unpickled) memo;
	const char *problem; /* why the last operation failed; NULL: memory is exhausted */
};

/*
 * Each function does one operation. It returns false if the stack lacks a value, a value has the
 * wrong kind, or memory is exhausted, and sets `problem`.
 */
bool gmt_unpickle_push(struct gmt_unpickle_machine *machine, struct gmt_unpickled value);
bool gmt_unpickle_push_empty(struct gmt_unpickle_machine *machine, enum gmt_unpickled_kind kind);
bool gmt_unpickle_pop(struct gmt_unpickle_machine *machine, struct gmt_unpickled *ret_value);
bool gmt_unpickle_mark(struct gmt_unpickle_machine *machine);
bool gmt_unpickle_pop_mark(struct gmt_unpickle_machine *machine);

/* Replaces the `count` last values, or all since the last mark, by a container of them. */
bool gmt_unpickle_build(struct gmt_unpickle_machine *machine, enum gmt_unpickled_kind kind,
	size_t count);
bool gmt_unpickle_build_from_mark(struct gmt_unpickle_machine *machine,
	enum gmt_unpickled_kind kind);

/* Adds the `count` last values, or all since the last mark, to the container below them. */
bool gmt_unpickle_add(struct gmt_unpickle_machine *machine, enum gmt_unpickled_kind kind,
	size_t count);
bool gmt_unpickle_add_from_mark(struct gmt_unpickle_machine *machine, enum gmt_unpickled_kind kind);

bool gmt_unpickle_duplicate(struct gmt_unpickle_machine *machine);
bool gmt_unpickle_put(struct gmt_unpickle_machine *machine, uint64_t index);
bool gmt_unpickle_get(struct gmt_unpickle_machine *machine, uint64_t index);

void gmt_unpickle_machine_fini(struct gmt_unpickle_machine *machine);

#endif
