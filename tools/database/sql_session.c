/* SPDX-License-Identifier: MIT */
#include "tools/database/sql_session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/database/database_schema.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"

static const char MAGIC[] = "SQLite format 3";

bool gmt_sql_is_database(const char *path)
{
	char bytes[sizeof(MAGIC)];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is_database = fd >= 0 && read(fd, bytes, sizeof(bytes)) == sizeof(bytes) &&
		!memcmp(bytes, MAGIC, sizeof(bytes));

	if (fd >= 0)
		close(fd);
	return is_database;
}

/* SQLite calls this for each table that a statement reads while it prepares the statement. */
static int note_table(void *user, int action, const char *name, const char *column,
	const char *database, const char *view)
{
	struct gmt_sql_session *session = user;
	size_t prefix = strlen(GMT_STORED_TABLE);
	const struct gmt_read_table *table;

	(void)column;
	(void)database;
	(void)view;
	if (action != SQLITE_READ || strncmp(name, GMT_STORED_TABLE, prefix) != 0)
		return SQLITE_OK;
	for (size_t i = 0; (table = gmt_read_table_at(i)); i++)
		if (strcmp(name + prefix, table->name) == 0)
			session->wanted |= UINT64_C(1) << i;
	return SQLITE_OK;
}

/* The function bytes(n) of SQL: a size for people, such as "1.50 GiB". */
static void sql_bytes(sqlite3_context *context, int count, sqlite3_value **values)
{
	sqlite3_int64 bytes = sqlite3_value_int64(values[0]);
	struct gmt_text size = gmt_text_size(bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);
	char text[sizeof(size.text) + 1];

	(void)count;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL)
		return;
	snprintf(text, sizeof(text), "%s%s", bytes < 0 ? "-" : "", size.text);
	sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static int report(const struct gmt_sql_session *session)
{
	const char *text = sqlite3_errmsg(session->database.connection);

	gmt_message_error("sql: %s", text);
	if (strstr(text, "no such table") || strstr(text, "no such column"))
		gmt_message_hint("`gpumemtrace sql FILE .schema` lists the tables and their columns");
	return GMT_EXIT_USAGE;
}

int gmt_sql_session_open(struct gmt_sql_session *ret_session, const char *const *paths,
	size_t count, const struct gmt_recording_tables_options *options)
{
	struct gmt_database *database = &ret_session->database;
	bool is_database = count == 1 && gmt_sql_is_database(paths[0]);
	struct gmt_error error = { 0 };

	*ret_session = (struct gmt_sql_session){
		.tables = { .paths = paths, .count = is_database ? 0 : count, .options = *options }
	};
	database->name = paths[0];
	/* A statement that reads no table loads no recording, so a wrong name would stay unnoticed. */
	for (size_t i = 0; i < count; i++)
		if (strcmp(paths[i], "-") != 0 && access(paths[i], R_OK)) {
			gmt_message_error("%s: %s", paths[i], strerror(errno));
			return GMT_EXIT_UNREADABLE;
		}
	if (is_database) {
		if (sqlite3_open_v2(paths[0], &database->connection, SQLITE_OPEN_READONLY, NULL))
			return gmt_message_failure((gmt_database_fail(database, &error), &error));
	} else if (gmt_database_open(database, "", "temporary database", GMT_DATABASE_ALL_TABLES,
				   &error)) {
		return gmt_message_failure(&error);
	}
	if (sqlite3_create_function(database->connection, "bytes", 1,
			SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, sql_bytes, NULL, NULL) ||
		sqlite3_set_authorizer(database->connection, note_table, ret_session))
		return gmt_message_failure((gmt_database_fail(database, &error), &error));
	return gmt_recording_tables_list(&ret_session->tables, database);
}

/* Fills the tables that the prepared statement reads, and that have no rows yet. */
static int fill_wanted(struct gmt_sql_session *session)
{
	uint64_t missing = session->wanted & ~session->filled;
	int code;

	if (!missing || !session->tables.count)
		return 0;
	code = gmt_recording_tables_fill(&session->tables, &session->database, missing);
	session->filled |= missing;
	return code;
}

/* Runs the first statement of `text`. *ret_rest is the text after it. */
static int run_one(struct gmt_sql_session *session, const char *text,
	const struct gmt_sql_output *output, const char **ret_rest)
{
	sqlite3 *connection = session->database.connection;
	sqlite3_stmt *statement = NULL;
	int code = 0, result;

	session->wanted = 0;
	if (sqlite3_prepare_v2(connection, text, -1, &statement, ret_rest) != SQLITE_OK)
		return report(session);
	if (!statement)
		return 0;
	/* The authorizer notes the tables of the user's statement only, not of those that fill them. */
	sqlite3_set_authorizer(connection, NULL, NULL);
	code = fill_wanted(session);
	if (!code) {
		result = gmt_sql_rows_write(statement, output);
		if (result == SQLITE_NOMEM) {
			gmt_message_error("sql: out of memory");
			code = GMT_EXIT_UNREADABLE;
		} else if (result != SQLITE_DONE) {
			code = report(session);
		}
	}
	sqlite3_finalize(statement);
	sqlite3_set_authorizer(connection, note_table, session);
	return code;
}

static const char SCHEMA[] = "SELECT m.name AS \"table\", c.name AS \"column\""
							 " FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c"
							 " WHERE m.name NOT LIKE 'stored\\_%' ESCAPE '\\'";
static const char TABLES[] = "SELECT name AS \"table\" FROM sqlite_master"
							 " WHERE name NOT LIKE 'stored\\_%' ESCAPE '\\'";

/* Returns the statement for a command that begins with a point, or NULL. */
static const char *command_statement(const char *text)
{
	size_t length = strcspn(text, " ;\n");

	if (length == 7 && strncmp(text, ".schema", length) == 0)
		return SCHEMA;
	return length == 7 && strncmp(text, ".tables", length) == 0 ? TABLES : NULL;
}

int gmt_sql_session_run(struct gmt_sql_session *session, const char *text,
	const struct gmt_sql_output *output)
{
	int code = 0;

	if (*text == '.') {
		const char *statement = command_statement(text);

		if (!statement) {
			gmt_message_error("sql: no such command: .tables and .schema exist; all else is SQL");
			return GMT_EXIT_USAGE;
		}
		text = statement;
	}
	while (!code && *text)
		code = run_one(session, text, output, &text);
	return code;
}

/* Reads lines into *text until a statement ends. Returns false at the end of the input. */
static bool read_statement(bool has_prompt, char **text, size_t *capacity)
{
	char *line = NULL;
	size_t line_capacity = 0, length = 0;
	bool has_text = false;

	while (true) {
		ssize_t read_bytes;

		if (has_prompt) {
			fputs(has_text ? "   > " : "sql> ", stdout);
			fflush(stdout);
		}
		read_bytes = getline(&line, &line_capacity, stdin);
		if (read_bytes < 0)
			break;
		if (length + (size_t)read_bytes + 1 > *capacity) {
			char *grown = realloc(*text, *capacity = 2 * (length + (size_t)read_bytes + 1));

			if (!grown)
				break;
			*text = grown;
		}
		memcpy(*text + length, line, (size_t)read_bytes + 1);
		length += (size_t)read_bytes;
		has_text = strspn(*text, " \t\n") < length;
		if (!has_text)
			length = 0;
		else if (**text == '.' || sqlite3_complete(*text))
			break;
	}
	free(line);
	return has_text;
}

int gmt_sql_session_read(struct gmt_sql_session *session, const struct gmt_sql_output *output)
{
	bool has_prompt = isatty(STDIN_FILENO);
	char *text = NULL;
	size_t capacity = 0;
	int code = 0;

	if (has_prompt)
		puts(".tables lists the tables, .schema their columns. A statement ends with `;`, the "
			 "prompt with .quit or Ctrl-D.");
	while ((!code || has_prompt) && read_statement(has_prompt, &text, &capacity)) {
		if (strncmp(text, ".quit", 5) == 0)
			break;
		code = gmt_sql_session_run(session, text, output);
	}
	free(text);
	return has_prompt ? 0 : code;
}

void gmt_sql_session_close(struct gmt_sql_session *session)
{
	gmt_database_close(&session->database);
	gmt_recording_tables_fini(&session->tables);
}
