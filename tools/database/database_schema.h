/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DATABASE_DATABASE_SCHEMA_H
#define GMT_TOOLS_DATABASE_DATABASE_SCHEMA_H

/* The statements of SQL that create tables and views, and that insert rows. */

#include "library/tables/tables.h"

#define GMT_STORED_TABLE "stored_"

/* Returns the bit of the table with this name: bit N is gmt_read_table_at(N). 0: there is none. */
uint64_t gmt_database_table_bit(const char *name);

/*
 * Returns the statements that create the tables in `tables` (bit N: gmt_read_table_at(N)) and all
 * views. From malloc; NULL: out of memory.
 */
char *gmt_database_schema(uint64_t tables);

/*
 * Returns the statement that inserts a row into a stored table. From malloc; NULL: out of memory.
 */
char *gmt_database_insert(const struct gmt_read_table *table);

#endif
