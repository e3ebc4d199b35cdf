/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_IMPORT_IMPORT_INPUT_H
#define GMT_TOOLS_IMPORT_IMPORT_INPUT_H

/* Reads the file to import, and finds its kind. */

#include <stdint.h>

#include "base/status.h"
#include "containers/vec.h"

enum gmt_import_kind {
	GMT_IMPORT_PICKLE,
	GMT_IMPORT_CSV,
	GMT_IMPORT_NSIGHT, /* an SQLite file, which SQLite itself reads */
};

struct gmt_import_input {
	const char *path;
	const char *name; /* for messages */
	GMT_VEC(uint8_t) bytes; /* the whole content; only the first bytes of an SQLite file */
	enum gmt_import_kind kind;
};

/*
 * Reads a file, or standard input for the path `-`, and finds its kind. Errors begin with the name
 * of the file. The caller ends *ret_input (zeroed) with gmt_import_input_fini, also after an error.
 */
enum gmt_status gmt_import_input_read(struct gmt_import_input *ret_input, const char *path,
	struct gmt_error *error);

void gmt_import_input_fini(struct gmt_import_input *input);

#endif
