/* SPDX-License-Identifier: MIT */
#ifndef GMT_IMPORT_PICKLE_UNPICKLE_H
#define GMT_IMPORT_PICKLE_UNPICKLE_H

/*
 * Reads a pickle of plain data: numbers, texts, lists, tuples, dictionaries and sets, of protocols
 * 2 to 5. It executes nothing. An opcode that imports a name, calls a function or asks for an
 * object of the program ends the reading with an error.
 *
 * The pickle may be hostile. The memory is at most a few dozen times the size of the file, because
 * each value needs at least one byte of it. Nested values need no recursion. A value may contain
 * itself. A value may occur in several places, so the sum of all paths through the values may be
 * much larger than the file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "containers/arena.h"
#include "containers/vec.h"

enum gmt_unpickled_kind {
	GMT_UNPICKLED_NONE,
	GMT_UNPICKLED_BOOL,
	GMT_UNPICKLED_NUMBER, /* from INT64_MIN to INT64_MAX */
	GMT_UNPICKLED_LARGE,  /* a number from 2^63 to 2^64 - 1 */
	GMT_UNPICKLED_OTHER_NUMBER, /* a number that does not fit */
	GMT_UNPICKLED_REAL,
	GMT_UNPICKLED_TEXT,
	GMT_UNPICKLED_BYTES,
	GMT_UNPICKLED_LIST,
	GMT_UNPICKLED_TUPLE,
	GMT_UNPICKLED_DICT,
	GMT_UNPICKLED_SET,
};

struct gmt_unpickled_items;

/* A value. Texts point into the file's bytes and do not end with NUL. */
struct gmt_unpickled {
	uint32_t kind;   /* enum gmt_unpickled_kind */
	uint32_t length; /* bytes of a text */
	union {
		int64_t number; /* of LARGE: modulo 2^64 */
		double real;
		const char *text;
		struct gmt_unpickled_items *items; /* of a list, tuple, dictionary or set */
	};
};

/* The items of a list, or keys and values in turn. The address is the identity of the value. */
struct gmt_unpickled_items {
	struct gmt_unpickled *values;
	uint32_t count, capacity;
};

struct gmt_unpickle {
	struct gmt_arena arena;
	struct gmt_unpickled value; /* the result */
};

/* Returns whether the bytes begin like a pickle of protocols 2 to 5. */
bool gmt_unpickle_is_pickle(const void *bytes, size_t length);

/*
 * Reads a pickle. The bytes must stay valid as long as the result is used. Returns GMT_FORMAT with
 * the opcode and its position, or GMT_NO_MEMORY. The caller ends *ret_unpickle (zeroed) with
 * gmt_unpickle_fini, also after an error.
 */
enum gmt_status gmt_unpickle_read(struct gmt_unpickle *ret_unpickle, const void *bytes,
	size_t length, struct gmt_error *error);

void gmt_unpickle_fini(struct gmt_unpickle *unpickle);

/* Returns whether a value is a text with these characters. */
bool gmt_unpickled_is(const struct gmt_unpickled *value, const char *text);

/*
 * Returns the value of a key of a dictionary, or NULL. The last of equal keys counts. Takes time in
 * proportion to the number of keys.
 */
const struct gmt_unpickled *gmt_unpickled_find(const struct gmt_unpickled *dictionary,
	const char *key);

#endif
