/* SPDX-License-Identifier: MIT */
#include "library/tables/tables.h"

#include <string.h>

/* Each table's functions are in the file rows_NAME.c, or in that of a related table. */
#define GMT_READ_TABLE(name, work, filters, meaning) \
	bool gmt_open_##name(struct gmt_read_cursor *cursor); \
	size_t gmt_read_##name(struct gmt_read_cursor *cursor, void *ret_rows, size_t max); \
	void gmt_close_##name(struct gmt_read_cursor *cursor);
#define GMT_READ_COLUMN(table, type, name, work, nulls, meaning)
#define GMT_READ_END(name)
#include "library/tables/tables.def"
#undef GMT_READ_TABLE
#undef GMT_READ_COLUMN
#undef GMT_READ_END

#define IS_NULLS true
#define IS_FULL false

#define GMT_READ_TABLE(name, work, filters, meaning) \
	_Static_assert((int)GMT_COLUMNS_##name <= (int)GMT_READ_MAX_COLUMNS, "raise the limit"); \
	static const struct gmt_read_column columns_of_##name[] = {
#define GMT_READ_COLUMN(table, type, name, work, nulls, meaning) \
	{ #name, GMT_TYPE_##type, GMT_WORK_##work, IS_##nulls, offsetof(struct gmt_row_##table, name) },
#define GMT_READ_END(name) \
	} \
	;
#include "library/tables/tables.def"
#undef GMT_READ_TABLE
#undef GMT_READ_COLUMN
#undef GMT_READ_END

static const struct gmt_read_table tables[] = {
#define GMT_READ_TABLE(name, work, filters, meaning) \
	{ \
		#name, \
		GMT_WORK_##work, \
		GMT_FILTER_##filters, \
		columns_of_##name, \
		GMT_COLUMNS_##name, \
		sizeof(struct gmt_row_##name), \
		gmt_open_##name, \
		gmt_read_##name, \
		gmt_close_##name, \
	},
#define GMT_READ_COLUMN(table, type, name, work, nulls, meaning)
#define GMT_READ_END(name)
#include "library/tables/tables.def"
#undef GMT_READ_TABLE
#undef GMT_READ_COLUMN
#undef GMT_READ_END
};

const struct gmt_read_table *gmt_read_table_at(size_t index)
{
	return index < sizeof(tables) / sizeof(*tables) ? &tables[index] : NULL;
}

const struct gmt_read_table *gmt_read_table_find(const char *name)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (!strcmp(tables[i].name, name))
			return &tables[i];
	return NULL;
}

int gmt_read_column_find(const struct gmt_read_table *table, const char *name)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (!strcmp(table->columns[i].name, name))
			return (int)i;
	return GMT_READ_NO_COLUMN;
}
