/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DATABASE_DATABASE_H
#define GMT_TOOLS_DATABASE_DATABASE_H

/*
 * The tables of recordings (library/tables/tables.def) in a database of SQLite. The flow:
 * recording -> rows of a table -> database.
 *
 * Each table is stored as "stored_NAME", with a number in place of each text. The view NAME shows
 * the texts, which are in the table `texts`. Both have one more column, `recording`: the number of
 * the recording, from 0. The table `recordings` has the path for each number. More views have the
 * names and columns of Nsight Systems (nsight_views.h).
 *
 * For one thread. Zero-initialise a database; gmt_database_close ends it in each state.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sqlite3.h>

#include "base/status.h"
#include "containers/intern.h"
#include "library/tables/recording.h"

struct gmt_database {
	sqlite3 *connection;
	const char *name; /* for messages; borrowed */
	struct gmt_intern texts; /* the id is the number in the table `texts` */
	size_t stored_texts; /* number of texts that the table `texts` has */
};

/* The tables of a recording, as bits: bit N is gmt_read_table_at(N). */
#define GMT_DATABASE_ALL_TABLES UINT64_MAX

/*
 * Opens the empty file at `path`, and creates the tables without rows. Path "": a temporary
 * database. Messages call the database `name`, which must live as long as it.
 */
enum gmt_status gmt_database_open(struct gmt_database *ret_database, const char *path,
	const char *name, uint64_t tables, struct gmt_error *error);

/* Sets the error of the last call of SQLite that failed. */
enum gmt_status gmt_database_fail(const struct gmt_database *database, struct gmt_error *error);

/* Adds a row to the table `recordings`. */
enum gmt_status gmt_database_add_recording(struct gmt_database *database, uint32_t number,
	const char *path, struct gmt_error *error);

/*
 * Adds the rows of one table of a recording. Fails when out of memory, when the disk is full, and
 * if the recording's temporary files cannot be read back.
 */
enum gmt_status gmt_database_fill(struct gmt_database *database, const struct gmt_read_table *table,
	struct gpumemtrace_recording *recording, uint32_t number, struct gmt_error *error);

void gmt_database_close(struct gmt_database *database);

#endif
