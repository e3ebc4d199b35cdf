/* SPDX-License-Identifier: MIT */
#include "tools/database/sql_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/safe_text.h"
#include "containers/vec.h"
#include "render/json.h"
#include "render/lines/text_columns.h"

/* The widths of the columns are those of the first rows. */
enum { ROWS_FOR_WIDTH = 1000, MAX_WIDTH = 120 };

struct cell {
	char *text; /* from malloc; NULL: null */
	bool is_number;
};

struct text_table {
	FILE *file;
	int columns;
	size_t *widths;
	bool *are_numbers; /* for each column: its values are written to the right */
	GMT_VEC(struct cell) cells; /* of the rows that are not written yet, row by row */
	bool is_written; /* the heading, and the rows before `cells` */
};

static size_t width_of(const char *text)
{
	return gmt_columns_count(text, text + strlen(text));
}

static void write_padded(FILE *file, const char *text, size_t width, bool to_right, bool is_last)
{
	size_t own = width_of(text);
	int spaces = own < width ? (int)(width - own) : 0;

	if (to_right)
		fprintf(file, "%*s", spaces, "");
	gmt_safe_print(file, text);
	if (!to_right && !is_last)
		fprintf(file, "%*s", spaces, "");
	fputs(is_last ? "\n" : "  ", file);
}

/* Returns a text of the statement as one safe line, from malloc. NULL: out of memory. */
static char *safe_copy(const char *text)
{
	char *copy = strdup(text ? text : "");

	if (copy)
		gmt_safe_replace(copy);
	return copy;
}

static bool write_heading(const struct text_table *table, sqlite3_stmt *statement)
{
	for (int i = 0; i < table->columns; i++) {
		char *name = safe_copy(sqlite3_column_name(statement, i));

		if (!name)
			return false;
		if (width_of(name) > table->widths[i])
			table->widths[i] = width_of(name);
		write_padded(table->file, name, table->widths[i], table->are_numbers[i],
			i == table->columns - 1);
		free(name);
	}
	return true;
}

/* Writes the rows that wait. The first time, sets the widths and writes the heading. */
static bool write_waiting(struct text_table *table, sqlite3_stmt *statement)
{
	for (size_t i = 0; !table->is_written && i < table->cells.count; i++) {
		const struct cell *cell = &table->cells.items[i];
		size_t column = i % (size_t)table->columns, width = cell->text ? width_of(cell->text) : 0;

		if (width > MAX_WIDTH)
			width = MAX_WIDTH;
		if (width > table->widths[column])
			table->widths[column] = width;
		table->are_numbers[column] |= cell->is_number;
	}
	if (!table->is_written && !write_heading(table, statement))
		return false;
	table->is_written = true;
	for (size_t i = 0; i < table->cells.count; i++) {
		size_t column = i % (size_t)table->columns;

		write_padded(table->file, table->cells.items[i].text ? table->cells.items[i].text : "",
			table->widths[column], table->are_numbers[column],
			column == (size_t)table->columns - 1);
		free(table->cells.items[i].text);
	}
	table->cells.count = 0;
	return true;
}

/* Adds the current row of the statement. Returns false when out of memory. */
static bool add_row(struct text_table *table, sqlite3_stmt *statement)
{
	for (int i = 0; i < table->columns; i++) {
		struct cell *cell = gmt_vec_push(&table->cells);
		int type = sqlite3_column_type(statement, i);

		if (!cell)
			return false;
		*cell = (struct cell){ .is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT };
		if (type != SQLITE_NULL &&
			!(cell->text = safe_copy((const char *)sqlite3_column_text(statement, i))))
			return false;
	}
	if (!table->is_written && table->cells.count < ROWS_FOR_WIDTH * (size_t)table->columns)
		return true;
	return write_waiting(table, statement);
}

static void fini_table(struct text_table *table)
{
	for (size_t i = 0; i < table->cells.count; i++)
		free(table->cells.items[i].text);
	gmt_vec_fini(&table->cells);
	free(table->widths);
	free(table->are_numbers);
}

static int write_text(sqlite3_stmt *statement, FILE *file)
{
	struct text_table table = { .file = file, .columns = sqlite3_column_count(statement) };
	int result = SQLITE_NOMEM;

	table.widths = calloc((size_t)table.columns + 1, sizeof(*table.widths));
	table.are_numbers = calloc((size_t)table.columns + 1, sizeof(*table.are_numbers));
	if (table.widths && table.are_numbers) {
		while ((result = sqlite3_step(statement)) == SQLITE_ROW)
			if (!add_row(&table, statement)) {
				result = SQLITE_NOMEM;
				break;
			}
		if (result == SQLITE_DONE && table.columns && !write_waiting(&table, statement))
			result = SQLITE_NOMEM;
	}
	fini_table(&table);
	return result;
}

static void write_json_value(struct gmt_json *json, sqlite3_stmt *statement, int column)
{
	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		gmt_json_null(json);
		break;
	case SQLITE_INTEGER:
		gmt_json_i64(json, sqlite3_column_int64(statement, column));
		break;
	case SQLITE_FLOAT:
		gmt_json_double(json, sqlite3_column_double(statement, column));
		break;
	default:
		gmt_json_text(json, (const char *)sqlite3_column_text(statement, column));
	}
}

static int write_json(sqlite3_stmt *statement, FILE *file)
{
	struct gmt_json json = { .file = file, .pretty = true, .inline_depth = 1 };
	int columns = sqlite3_column_count(statement), result;

	/* The user chose the rows: the limit for output is for what a recording causes. */
	gmt_budget.output_bytes = UINT64_MAX;
	gmt_json_begin_array(&json);
	while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
		gmt_json_begin_object(&json);
		for (int i = 0; i < columns; i++) {
			gmt_json_key(&json, sqlite3_column_name(statement, i));
			write_json_value(&json, statement, i);
		}
		gmt_json_end_object(&json);
	}
	gmt_json_end_array(&json);
	fputc('\n', file);
	return result;
}

/* Writes a text, in quotes if it has a separator. Returns false when out of memory. */
static bool write_csv_text(FILE *file, const char *text)
{
	bool is_quoted = text[strcspn(text, ",\"\r\n")];
	char *quoted = malloc(2 * strlen(text) + 3), *to = quoted;

	if (!quoted)
		return false;
	if (is_quoted)
		*to++ = '"';
	for (; *text; text++) {
		if (*text == '"')
			*to++ = '"';
		*to++ = *text;
	}
	if (is_quoted)
		*to++ = '"';
	*to = 0;
	gmt_safe_print(file, quoted);
	free(quoted);
	return true;
}

static int write_csv(sqlite3_stmt *statement, FILE *file)
{
	int columns = sqlite3_column_count(statement), result;

	for (int i = 0; i < columns; i++) {
		fputs(i ? "," : "", file);
		if (!write_csv_text(file, sqlite3_column_name(statement, i)))
			return SQLITE_NOMEM;
	}
	fputs(columns ? "\n" : "", file);
	while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
		for (int i = 0; i < columns; i++) {
			const char *text = (const char *)sqlite3_column_text(statement, i);

			fputs(i ? "," : "", file);
			if (!write_csv_text(file, text ? text : ""))
				return SQLITE_NOMEM;
		}
		fputc('\n', file);
	}
	return result;
}

int gmt_sql_rows_write(sqlite3_stmt *statement, const struct gmt_sql_output *output)
{
	switch (output->form) {
	case GMT_SQL_JSON:
		return write_json(statement, output->file);
	case GMT_SQL_CSV:
		return write_csv(statement, output->file);
	default:
		return write_text(statement, output->file);
	}
}
