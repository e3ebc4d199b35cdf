/* SPDX-License-Identifier: MIT */
#include "tools/database/database_schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/database/nsight_views.h"

uint64_t gmt_database_table_bit(const char *name)
{
	const struct gmt_read_table *table;

	for (size_t i = 0; (table = gmt_read_table_at(i)); i++)
		if (strcmp(table->name, name) == 0)
			return UINT64_C(1) << i;
	return 0;
}

static const char *type_of(enum gmt_read_type type)
{
	return type == GMT_TYPE_F64 ? "REAL" : "INTEGER";
}

/*
 * Writes the table with numbers in place of texts. It has no constraints: SQLite would check them
 * for each row.
 */
static void write_table(FILE *file, const struct gmt_read_table *table)
{
	fprintf(file, "CREATE TABLE " GMT_STORED_TABLE "%s(recording INTEGER", table->name);
	for (size_t i = 0; i < table->column_count; i++) {
		const struct gmt_read_column *column = &table->columns[i];

		fprintf(file, ", \"%s\" %s", column->name, type_of(column->type));
	}
	fputs(");\n", file);
}

/* Writes the view with the texts. A join whose column a query does not use costs nothing. */
static void write_view(FILE *file, const struct gmt_read_table *table)
{
	fprintf(file, "CREATE VIEW \"%s\" AS SELECT stored.recording", table->name);
	for (size_t i = 0; i < table->column_count; i++) {
		const struct gmt_read_column *column = &table->columns[i];

		if (column->type == GMT_TYPE_TEXT)
			fprintf(file, ", text%zu.text AS \"%s\"", i, column->name);
		else
			fprintf(file, ", stored.\"%s\"", column->name);
	}
	fprintf(file, " FROM " GMT_STORED_TABLE "%s AS stored", table->name);
	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].type == GMT_TYPE_TEXT)
			fprintf(file, " LEFT JOIN texts AS text%zu ON text%zu.text_id = stored.\"%s\"", i, i,
				table->columns[i].name);
	fputs(";\n", file);
}

char *gmt_database_schema(uint64_t tables)
{
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);
	const struct gmt_read_table *table;

	if (!file)
		return NULL;
	fprintf(file, "PRAGMA user_version=%d;\n", GMT_READ_TABLES_VERSION);
	fputs("CREATE TABLE recordings(recording INTEGER PRIMARY KEY, path TEXT NOT NULL);\n", file);
	fputs("CREATE TABLE texts(text_id INTEGER PRIMARY KEY, text TEXT NOT NULL);\n", file);
	for (size_t i = 0; (table = gmt_read_table_at(i)); i++)
		if (tables >> i & 1) {
			write_table(file, table);
			write_view(file, table);
		}
	fputs(gmt_nsight_views, file);
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	return text;
}

char *gmt_database_insert(const struct gmt_read_table *table)
{
	char *text = NULL;
	size_t length = 0;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		return NULL;
	fprintf(file, "INSERT INTO " GMT_STORED_TABLE "%s VALUES(?", table->name);
	for (size_t i = 0; i < table->column_count; i++)
		fputs(",?", file);
	fputc(')', file);
	if (fclose(file)) {
		free(text);
		return NULL;
	}
	return text;
}
