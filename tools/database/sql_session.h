/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DATABASE_SQL_SESSION_H
#define GMT_TOOLS_DATABASE_SQL_SESSION_H

/*
 * Runs statements of SQL on recordings, or on a database that `export --format=sqlite` wrote. The
 * recordings' tables are filled when the first statement reads them.
 */

#include "tools/database/recording_tables.h"
#include "tools/database/sql_rows.h"

struct gmt_sql_session {
	struct gmt_database database;
	struct gmt_recording_tables tables; /* of a database: no recordings */
	uint64_t filled; /* tables that have their rows, as bits (gmt_read_table_at) */
	uint64_t wanted; /* tables that the statement in preparation reads */
};

/* Returns whether the file at `path` is a database of SQLite. */
bool gmt_sql_is_database(const char *path);

/*
 * Opens a session for `count` recordings, or for one database. Prints an error and returns an exit
 * code on failure. End it with gmt_sql_session_close in each case.
 */
int gmt_sql_session_open(struct gmt_sql_session *ret_session, const char *const *paths,
	size_t count, const struct gmt_recording_tables_options *options);

/*
 * Runs the statements in `text`, and writes the rows of each. Prints an error and returns an exit
 * code on failure.
 */
int gmt_sql_session_run(struct gmt_sql_session *session, const char *text,
	const struct gmt_sql_output *output);

/*
 * Reads statements from standard input and runs them: with a prompt on a terminal. There, a failed
 * statement does not end the session. Returns the exit code.
 */
int gmt_sql_session_read(struct gmt_sql_session *session, const struct gmt_sql_output *output);

void gmt_sql_session_close(struct gmt_sql_session *session);

#endif
