/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DATABASE_RECORDING_TABLES_H
#define GMT_TOOLS_DATABASE_RECORDING_TABLES_H

/* Fills tables of a database with the rows of recordings. */

#include "containers/vec.h"
#include "reader/stacks/owner_rules.h"
#include "tools/database/database.h"
#include "tools/options/options.h"

struct gpumemtrace_recording;

/* A recording that stays loaded. */
struct gmt_kept_recording {
	size_t index; /* in the paths */
	struct gpumemtrace_recording *recording;
};

/* How frames get their names: the options of the verbs. */
struct gmt_recording_tables_options {
	const struct gmt_option_texts *symbol_paths, *owners;
	bool no_symbol_cache;
	int native; /* enum gmt_traces_native */
};

/*
 * The recordings whose rows fill a database. A recording is loaded when a table is first filled. If
 * it is the only one, or standard input, it stays loaded for later tables. Others are loaded again,
 * because several may not fit into memory. Zero-initialise; end it with gmt_recording_tables_fini.
 */
struct gmt_recording_tables {
	const char *const *paths; /* the caller's */
	size_t count;
	struct gmt_recording_tables_options options;
	bool is_incomplete; /* a recording that was loaded lacks events */
	struct gmt_owner_rules owners; /* the loaded recordings refer to them */
	bool has_owners;
	GMT_VEC(struct gmt_kept_recording) kept;
};

/*
 * Adds a row for each recording to the table `recordings`, once. Prints errors. Returns 0 or an
 * exit code.
 */
int gmt_recording_tables_list(const struct gmt_recording_tables *tables,
	struct gmt_database *database);

/*
 * Adds the rows of each table in `wanted` to the database: bit N is gmt_read_table_at(N). The
 * number of a recording is its index in the paths. Prints errors, and warnings about recordings of
 * which only a part can be read. Returns 0 or an exit code.
 */
int gmt_recording_tables_fill(struct gmt_recording_tables *tables, struct gmt_database *database,
	uint64_t wanted);

void gmt_recording_tables_fini(struct gmt_recording_tables *tables);

#endif
