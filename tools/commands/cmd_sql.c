/* SPDX-License-Identifier: MIT */
/* Runs SQL on recordings: the tables of the library, in a database of SQLite. */
#include <string.h>
#include <unistd.h>

#include "tools/database/database_inputs.h"
#include "tools/database/sql_session.h"
#include "tools/options/command.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"
#include "tools/pipeline/owner_options.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/recordings/default_recording.h"

struct sql_options {
	bool json, csv, strict;
	struct gmt_option_texts symbol_paths, owners;
	bool no_symbol_cache;
	int native;
};

#define OFFSET_OF(field) offsetof(struct sql_options, field)
const struct gmt_option_row gmt_option_rows_sql[] = {
	{ "json", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(json), "rows as an array of JSON objects" },
	{ "csv", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(csv), "rows as comma-separated values" },
	GMT_NATIVE_OPTION(OFFSET_OF(native)),
	GMT_SYMBOLS_OPTIONS(OFFSET_OF(symbol_paths), OFFSET_OF(no_symbol_cache)),
	GMT_OWNERS_OPTION(OFFSET_OF(owners)),
	{ "strict", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(strict),
		"exit with 4 if a recording is incomplete" },
	{ 0 },
};
#undef OFFSET_OF

/*
 * Removes the statement from the operands and returns it: the last operand, unless it is a file.
 * NULL: there is no statement.
 */
static const char *take_statement(int *argc, char **argv)
{
	const char *last = *argc ? argv[*argc - 1] : NULL;

	if (!last || strcmp(last, "-") == 0 || access(last, F_OK) == 0)
		return NULL;
	/* An operand without a blank names a missing file, except for commands such as .schema. */
	if (*last != '.' && !strpbrk(last, " \t\n;"))
		return NULL;
	--*argc;
	return last;
}

int gmt_cmd_sql(const struct gmt_command *command, int argc, char **argv)
{
	struct sql_options options = { 0 };
	int code = gmt_options_parse(command, &options, false, &argc, argv);
	struct gmt_sql_session session = { 0 };
	struct gmt_database_inputs inputs = { 0 };
	const char *statement;

	if (code >= 0)
		return code;
	if (options.json && options.csv) {
		gmt_message_error("sql: --json and --csv exclude each other");
		return GMT_EXIT_USAGE;
	}
	statement = take_statement(&argc, argv);
	if (!gmt_default_recording("sql", &argc, argv))
		return GMT_EXIT_USAGE;
	for (int i = 0; !statement && i < argc; i++)
		if (strcmp(argv[i], "-") == 0) {
			gmt_message_error(
				"sql: `-`: the statement is missing: standard input is the recording");
			return GMT_EXIT_USAGE;
		}

	const struct gmt_recording_tables_options tables = {
		.symbol_paths = &options.symbol_paths,
		.owners = &options.owners,
		.no_symbol_cache = options.no_symbol_cache,
		.native = options.native,
	};
	const struct gmt_sql_output output = {
		.form = options.json ? GMT_SQL_JSON
			: options.csv    ? GMT_SQL_CSV
							 : GMT_SQL_TEXT,
		.file = stdout,
	};

	code = gmt_database_inputs_find(&inputs, argc, argv);
	if (!code)
		code = gmt_sql_session_open(&session, inputs.paths.items, inputs.paths.count, &tables);
	if (!code)
		code = statement ? gmt_sql_session_run(&session, statement, &output)
						 : gmt_sql_session_read(&session, &output);
	if (!code && session.tables.is_incomplete && options.strict)
		code = GMT_EXIT_INCOMPLETE;
	gmt_sql_session_close(&session);
	gmt_database_inputs_fini(&inputs);
	return code;
}
