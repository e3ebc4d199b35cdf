/* SPDX-License-Identifier: MIT */
#include "tools/import/nsight_database.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A row of the largest view of our own export needs about a hundred instructions. */
enum {
	STEP_INSTRUCTIONS = 1000,
	MIN_STEPS = 200000,
	FILE_BYTES_PER_STEP = 10,
	MAX_TEXT_BYTES = 16 << 20,
};

static int count_steps(void *user)
{
	struct gmt_nsight_database *database = user;

	if (database->steps_left) {
		database->steps_left--;
		return 0;
	}
	database->is_out_of_steps = true;
	return 1;
}

/* Allows statements and views only to read. */
static int authorize(void *user, int action, const char *first, const char *second,
	const char *database, const char *view)
{
	(void)user;
	(void)first;
	(void)second;
	(void)database;
	(void)view;
	return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
			action == SQLITE_PRAGMA
		? SQLITE_OK
		: SQLITE_DENY;
}

/* Writes the path as a URI for SQLite. Encodes all special characters. */
static bool make_address(const char *path, char *ret_address, size_t size)
{
	static const char start[] = "file:", end[] = "?mode=ro&immutable=1";
	size_t length = (size_t)snprintf(ret_address, size, "%s", start);

	for (const char *at = path; *at; at++) {
		if (size - length < 4 + sizeof(end))
			return false;
		length += (size_t)snprintf(ret_address + length, size - length,
			isalnum((unsigned char)*at) ? "%c" : "%%%02X", (unsigned char)*at);
	}
	snprintf(ret_address + length, size - length, "%s", end);
	return true;
}

enum gmt_status gmt_nsight_database_fail(const struct gmt_nsight_database *database,
	struct gmt_error *error)
{
	int code = sqlite3_errcode(database->connection);

	if (database->is_out_of_steps)
		return gmt_error_set(error, GMT_FORMAT,
			"its views need more work than a file of this size may cause");
	if (code == SQLITE_NOMEM)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	return gmt_error_set(error, code == SQLITE_CANTOPEN ? GMT_NO_FILE : GMT_FORMAT,
		"cannot be read: %.300s", sqlite3_errmsg(database->connection));
}

enum gmt_status gmt_nsight_database_open(struct gmt_nsight_database *ret_database, const char *path,
	struct gmt_error *error)
{
	char address[3 * PATH_MAX + 64];
	struct stat file;

	if (!make_address(path, address, sizeof(address)))
		return gmt_error_set(error, GMT_NO_FILE, "its name is too long");
	if (sqlite3_open_v2(address, &ret_database->connection, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
			NULL) != SQLITE_OK)
		return gmt_nsight_database_fail(ret_database, error);
	ret_database->steps_left = MIN_STEPS;
	if (!stat(path, &file))
		ret_database->steps_left += (uint64_t)file.st_size / FILE_BYTES_PER_STEP;
	sqlite3_limit(ret_database->connection, SQLITE_LIMIT_LENGTH, MAX_TEXT_BYTES);
	sqlite3_db_config(ret_database->connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(ret_database->connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(ret_database->connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_exec(ret_database->connection, "PRAGMA cell_size_check=ON; PRAGMA temp_store=MEMORY;",
		NULL, NULL, NULL);
	sqlite3_set_authorizer(ret_database->connection, authorize, NULL);
	sqlite3_progress_handler(ret_database->connection, STEP_INSTRUCTIONS, count_steps,
		ret_database);
	return GMT_OK;
}

bool gmt_nsight_database_has(struct gmt_nsight_database *database, const char *table,
	const char *column)
{
	sqlite3_stmt *statement;
	char text[200];
	bool has;

	/* SQLite takes an unknown "name" as a text, but not "table"."name". */
	if (column)
		snprintf(text, sizeof(text), "SELECT \"%s\".\"%s\" FROM \"%s\"", table, column, table);
	else
		snprintf(text, sizeof(text), "SELECT 1 FROM \"%s\"", table);
	has = sqlite3_prepare_v2(database->connection, text, -1, &statement, NULL) == SQLITE_OK;
	sqlite3_finalize(statement);
	return has;
}

enum gmt_status gmt_nsight_database_read(struct gmt_nsight_database *database,
	const char *statement, gmt_nsight_row *take, void *user, struct gmt_error *error)
{
	sqlite3_stmt *rows;
	enum gmt_status status = GMT_OK;
	int code;

	if (sqlite3_prepare_v2(database->connection, statement, -1, &rows, NULL) != SQLITE_OK)
		return gmt_nsight_database_fail(database, error);
	while ((code = sqlite3_step(rows)) == SQLITE_ROW)
		if (!take(user, rows)) {
			status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
			break;
		}
	if (!status && code != SQLITE_DONE)
		status = gmt_nsight_database_fail(database, error);
	sqlite3_finalize(rows);
	return status;
}

const char *gmt_nsight_text(sqlite3_stmt *row, int column, size_t *ret_length)
{
	const unsigned char *text =
		sqlite3_column_type(row, column) == SQLITE_TEXT ? sqlite3_column_text(row, column) : NULL;

	*ret_length = text ? (size_t)sqlite3_column_bytes(row, column) : 0;
	return text ? (const char *)text : "";
}

void gmt_nsight_database_close(struct gmt_nsight_database *database)
{
	sqlite3_close(database->connection);
}
