/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_IMPORT_NSIGHT_DATABASE_H
#define GMT_TOOLS_IMPORT_NSIGHT_DATABASE_H

/*
 * Reads tables of an SQLite file that is not trusted. The file is opened read-only and as
 * immutable, so that SQLite writes nothing next to it. The schema may contain views, which are
 * statements. So statements may only read, without recursion, and their work is limited in
 * proportion to the size of the file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>

#include "base/status.h"

struct gmt_nsight_database {
	sqlite3 *connection;
	uint64_t steps_left; /* a step is a thousand instructions of SQLite's virtual machine */
	bool is_out_of_steps;
};

/* Opens a file. The caller ends *ret_database (zeroed) with gmt_nsight_database_close. */
enum gmt_status gmt_nsight_database_open(struct gmt_nsight_database *ret_database, const char *path,
	struct gmt_error *error);

/* Sets the error of the last failed call of SQLite. Returns its status. */
enum gmt_status gmt_nsight_database_fail(const struct gmt_nsight_database *database,
	struct gmt_error *error);

/* Returns whether a table or view has a column; with `column` NULL, whether the table exists. */
bool gmt_nsight_database_has(struct gmt_nsight_database *database, const char *table,
	const char *column);

/* Gets a row of a statement. Returns false to stop with GMT_NO_MEMORY. */
typedef bool gmt_nsight_row(void *user, sqlite3_stmt *row);

/* Calls `take` for each row of a statement. */
enum gmt_status gmt_nsight_database_read(struct gmt_nsight_database *database,
	const char *statement, gmt_nsight_row *take, void *user, struct gmt_error *error);

/* Returns a text cell and its length; "" if the cell has no text. Valid until the next row. */
const char *gmt_nsight_text(sqlite3_stmt *row, int column, size_t *ret_length);

void gmt_nsight_database_close(struct gmt_nsight_database *database);

#endif
