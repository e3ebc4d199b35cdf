/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DATABASE_RECORDING_TABLES_H
#define GMT_TOOLS_DATABASE_RECORDING_TABLES_H

/* Fills tables of a database with the rows of recordings. */

#include "tools/database/database.h"
#include "tools/options/options.h"

/* How frames get their names: the options of the verbs. */
struct gmt_recording_tables_options {
	const struct gmt_option_texts *symbol_paths, *owners;
	bool no_symbol_cache;
	int native; /* enum gmt_traces_native */
};

/*
 * Adds a row for each recording to the table `recordings`, once. Prints errors. Returns 0 or an
 * exit code.
 */
int gmt_recording_tables_list(struct gmt_database *database, const char *const *paths,
	size_t count);

/*
 * Loads the recordings in `paths`, one after another, and adds the rows of each table in `wanted`:
 * bit N is gmt_read_table_at(N). The number of a recording is its index in `paths`. Prints errors,
 * and warnings about recordings of which only a part can be read. Returns 0 or an exit code. Sets
 * *ret_incomplete to true if one of the recordings lacks events.
 */
int gmt_recording_tables_fill(struct gmt_database *database, const char *const *paths, size_t count,
	uint64_t wanted, const struct gmt_recording_tables_options *options, bool *ret_incomplete);

#endif
