/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DATABASE_SQL_ROWS_H
#define GMT_TOOLS_DATABASE_SQL_ROWS_H

/* Writes the rows of a statement. */

#include <stdbool.h>
#include <stdio.h>
#include <sqlite3.h>

enum gmt_sql_form { GMT_SQL_TEXT, GMT_SQL_JSON, GMT_SQL_CSV };

struct gmt_sql_output {
	enum gmt_sql_form form;
	FILE *file;
};

/*
 * Steps through the statement and writes its rows: a table of text, an array of JSON objects, or
 * CSV. Returns SQLITE_DONE, or the code of a failure: SQLITE_NOMEM, or what SQLite
 * reports (sqlite3_errmsg has the reason).
 */
int gmt_sql_rows_write(sqlite3_stmt *statement, const struct gmt_sql_output *output);

#endif
