/* SPDX-License-Identifier: MIT */
#include "tools/database/database.h"

#include <stdlib.h>
#include <string.h>

#include "library/tables/cursor.h"
#include "tools/database/database_schema.h"

enum { ROWS_AT_ONCE = 256 };

/* A failed export leaves no file, so the database needs neither a journal nor fsync. */
static const char SETTINGS[] =
	"PRAGMA page_size=16384; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
	"PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=FILE; PRAGMA cache_size=-65536;";

enum gmt_status gmt_database_fail(const struct gmt_database *database, struct gmt_error *error)
{
	int code = sqlite3_errcode(database->connection);
	int system = code == SQLITE_IOERR ? sqlite3_system_errno(database->connection) : 0;

	return gmt_error_set(error, code == SQLITE_NOMEM ? GMT_NO_MEMORY : GMT_WRITE, "%s: %s",
		database->name, system ? strerror(system) : sqlite3_errmsg(database->connection));
}

static enum gmt_status execute(struct gmt_database *database, const char *statements,
	struct gmt_error *error)
{
	return sqlite3_exec(database->connection, statements, NULL, NULL, NULL) == SQLITE_OK
		? GMT_OK
		: gmt_database_fail(database, error);
}

enum gmt_status gmt_database_open(struct gmt_database *ret_database, const char *path,
	const char *name, uint64_t tables, struct gmt_error *error)
{
	char *statements = gmt_database_schema(tables);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	enum gmt_status status;

	ret_database->name = name;
	/* One thread: without locks and statistics, an insert takes a fifth less time. */
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (!statements)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	if (sqlite3_open_v2(path, &ret_database->connection, flags, NULL) != SQLITE_OK)
		status = gmt_database_fail(ret_database, error);
	else if (!(status = execute(ret_database, SETTINGS, error)))
		status = execute(ret_database, statements, error);
	free(statements);
	return status;
}

enum gmt_status gmt_database_add_recording(struct gmt_database *database, uint32_t number,
	const char *path, struct gmt_error *error)
{
	sqlite3_stmt *insert;
	bool done;

	if (sqlite3_prepare_v2(database->connection, "INSERT INTO recordings VALUES(?,?)", -1, &insert,
			NULL) != SQLITE_OK)
		return gmt_database_fail(database, error);
	done = sqlite3_bind_int64(insert, 1, number) == SQLITE_OK &&
		sqlite3_bind_text(insert, 2, path, -1, SQLITE_STATIC) == SQLITE_OK &&
		sqlite3_step(insert) == SQLITE_DONE;
	if (sqlite3_finalize(insert) != SQLITE_OK || !done)
		return gmt_database_fail(database, error);
	return GMT_OK;
}

/* The rows of a table on their way into the database. */
struct filling {
	struct gmt_database *database;
	struct gmt_read_cursor cursor;
	sqlite3_stmt *insert;
	uint32_t *text_ids[GMT_READ_MAX_COLUMNS]; /* of TEXT columns: the number of each text */
};

/* Gives each text of the column its number in the database. Returns false when out of memory. */
static bool number_texts(struct filling *filling, size_t column)
{
	const struct gmt_intern *texts = &filling->cursor.texts[column];
	uint32_t *ids = filling->text_ids[column] = calloc(texts->entries.count + 1, sizeof(*ids));
	bool done = ids;

	for (size_t i = 0; done && i < texts->entries.count; i++)
		done = gmt_intern(&filling->database->texts, texts->entries.items[i].bytes,
			texts->entries.items[i].length, &ids[i]);
	return done;
}

/* Stores the texts that the database does not have yet. */
static bool store_texts(struct gmt_database *database)
{
	sqlite3_stmt *insert;
	bool done = sqlite3_prepare_v2(database->connection, "INSERT INTO texts VALUES(?,?)", -1,
					&insert, NULL) == SQLITE_OK;

	while (done && database->stored_texts < database->texts.entries.count) {
		const struct gmt_interned *text = &database->texts.entries.items[database->stored_texts];

		sqlite3_bind_int64(insert, 1, (sqlite3_int64)database->stored_texts);
		sqlite3_bind_text(insert, 2, text->bytes, (int)text->length, SQLITE_STATIC);
		done = sqlite3_step(insert) == SQLITE_DONE && sqlite3_reset(insert) == SQLITE_OK;
		database->stored_texts += done;
	}
	sqlite3_finalize(insert);
	return done;
}

/* Binds a cell to the parameter of its column. SQLite has signed integers only. */
static int bind(const struct filling *filling, size_t column, const uint8_t *row)
{
	const struct gmt_read_column *about = &filling->cursor.table->columns[column];
	const void *cell = row + about->offset;
	int parameter = (int)column + 2;

	if (*(const uint64_t *)(const void *)row >> column & 1)
		return sqlite3_bind_null(filling->insert, parameter);
	switch (about->type) {
	case GMT_TYPE_I64:
		return sqlite3_bind_int64(filling->insert, parameter, *(const int64_t *)cell);
	case GMT_TYPE_U64:
		return sqlite3_bind_int64(filling->insert, parameter,
			(sqlite3_int64) * (const uint64_t *)cell);
	case GMT_TYPE_I32:
		return sqlite3_bind_int64(filling->insert, parameter, *(const int32_t *)cell);
	case GMT_TYPE_U32:
		return sqlite3_bind_int64(filling->insert, parameter, *(const uint32_t *)cell);
	case GMT_TYPE_F64:
		return sqlite3_bind_double(filling->insert, parameter, *(const double *)cell);
	case GMT_TYPE_BOOL:
		return sqlite3_bind_int64(filling->insert, parameter, *(const bool *)cell);
	default:
		return sqlite3_bind_int64(filling->insert, parameter,
			filling->text_ids[column][*(const int32_t *)cell]);
	}
}

static bool insert_row(const struct filling *filling, const uint8_t *row)
{
	bool done = true;

	for (size_t i = 0; done && i < filling->cursor.table->column_count; i++)
		done = bind(filling, i, row) == SQLITE_OK;
	return done && sqlite3_step(filling->insert) == SQLITE_DONE &&
		sqlite3_reset(filling->insert) == SQLITE_OK;
}

/* Inserts all rows. Returns false if the database fails; a failed cursor has `failed` set. */
static bool insert_rows(struct filling *filling)
{
	struct gmt_read_cursor *cursor = &filling->cursor;
	size_t row_bytes = cursor->table->row_bytes, count;
	uint8_t *rows = calloc(ROWS_AT_ONCE, row_bytes);
	bool done = true;

	cursor->failed |= !rows;
	while (done && !cursor->failed && (count = cursor->table->read(cursor, rows, ROWS_AT_ONCE))) {
		if (cursor->failed)
			break;
		for (size_t i = 0; done && i < count; i++)
			done = insert_row(filling, rows + i * row_bytes);
	}
	free(rows);
	return done;
}

static enum gmt_status fail_reading(const struct gpumemtrace_recording *recording,
	struct gmt_error *error)
{
	if (gmt_events_failed(&recording->pipeline.recording->events) ||
		gmt_events_failed(&recording->blocks.blocks) ||
		gmt_events_failed(&recording->blocks.changes))
		return gmt_error_set(error, GMT_WRITE, "a temporary file could not be read back");
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

static enum gmt_status fill(struct filling *filling, struct gmt_error *error)
{
	struct gmt_read_cursor *cursor = &filling->cursor;
	const struct gmt_read_table *table = cursor->table;
	bool done = table->open(cursor) && !cursor->failed;

	for (size_t i = 0; done && i < table->column_count; i++)
		if (table->columns[i].type == GMT_TYPE_TEXT)
			done = number_texts(filling, i);
	if (!done)
		return fail_reading(cursor->recording, error);
	if (!store_texts(filling->database) || !insert_rows(filling))
		return gmt_database_fail(filling->database, error);
	return cursor->failed ? fail_reading(cursor->recording, error) : GMT_OK;
}

/* Returns the work that all columns of the table need. */
static enum gmt_read_work work_of(const struct gmt_read_table *table)
{
	enum gmt_read_work work = table->work;

	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].work > work)
			work = table->columns[i].work;
	return work;
}

/* Prepares the statement that inserts rows of the recording with this number. */
static enum gmt_status prepare_insert(struct filling *filling, uint32_t number,
	struct gmt_error *error)
{
	char *statement = gmt_database_insert(filling->cursor.table);
	enum gmt_status status = GMT_OK;

	if (!statement)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	if (sqlite3_prepare_v2(filling->database->connection, statement, -1, &filling->insert, NULL) !=
			SQLITE_OK ||
		sqlite3_bind_int64(filling->insert, 1, number) != SQLITE_OK)
		status = gmt_database_fail(filling->database, error);
	free(statement);
	return status;
}

enum gmt_status gmt_database_fill(struct gmt_database *database, const struct gmt_read_table *table,
	struct gpumemtrace_recording *recording, uint32_t number, struct gmt_error *error)
{
	struct filling filling = {
		.database = database,
		.cursor = { .recording = recording, .table = table, .columns = UINT64_MAX },
	};
	enum gmt_status status = gmt_read_recording_prepare(recording, work_of(table), error);

	if (status)
		return status;
	status = execute(database, "BEGIN", error);
	if (!status && !(status = prepare_insert(&filling, number, error))) {
		status = fill(&filling, error);
		table->close(&filling.cursor);
	}
	sqlite3_finalize(filling.insert);
	gmt_cursor_fini(&filling.cursor);
	for (size_t i = 0; i < GMT_READ_MAX_COLUMNS; i++)
		free(filling.text_ids[i]);
	return status ? status : execute(database, "COMMIT", error);
}

void gmt_database_close(struct gmt_database *database)
{
	sqlite3_close(database->connection);
	gmt_intern_fini(&database->texts);
	*database = (struct gmt_database){ 0 };
}
