/* SPDX-License-Identifier: MIT */
/*
 * Exports: one recording as a file for a viewer of another project, or the tables of many as files
 * of data engines.
 */
#include <string.h>

#include "render/export/export.h"
#include "tools/export/export_database.h"
#include "tools/export/export_file.h"
#include "tools/export/export_tables.h"
#include "tools/options/command.h"
#include "tools/output/message.h"
#include "tools/pipeline/owner_options.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/output/exit_codes.h"
#include "tools/recordings/default_recording.h"

/* The words of --format: "|parquet|arrow|...". */
static const char FORMAT_WORDS[] =
#define GMT_EXPORT_FORMAT(NAME, name, ...) "|" name
#include "render/export/export_formats.def"
#undef GMT_EXPORT_FORMAT
	;
#define PARTITION_WORDS "job|host|rank"

#define OFFSET_OF(field) offsetof(struct gmt_export_options, field)
const struct gmt_option_row gmt_option_rows_export[] = {
	{ "format", 0, GMT_OPTION_WORD, FORMAT_WORDS + 1, OFFSET_OF(format),
		"format of the output (default: parquet); docs/data/exports.md says which program opens "
		"it" },
	{ "output", 'o', GMT_OPTION_TEXT, "PATH", OFFSET_OF(output),
		"the file to write, or - for stdout (default: the recording's name with the format's "
		"suffix); for parquet, arrow and csv the new folder, which gets DIR/TABLE/JOB.parquet" },
	{ "at", 0, GMT_OPTION_MOMENT, GMT_MOMENT_VALUES, OFFSET_OF(at),
		"the memory that is live at this moment (default: peak; of torch: end)" },
	GMT_EXPORT_CHOICE_OPTIONS(OFFSET_OF),
	{ "value", 0, GMT_OPTION_WORD, GMT_EXPORT_VALUE_WORDS, OFFSET_OF(value),
		"the number of each stack: bytes or blocks that are live at --at (default: bytes), or the "
		"bytes or number of all allocations" },
	GMT_EXPORT_BY_OPTION(OFFSET_OF(by)),
	{ "max-events", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(max_events),
		"at most this many events, the newest (default of torch: 200000, more make its viewer "
		"slow)" },
	GMT_NATIVE_OPTION(OFFSET_OF(native)),
	GMT_SYMBOLS_OPTIONS(OFFSET_OF(symbol_paths), OFFSET_OF(no_symbol_cache)),
	GMT_OWNERS_OPTION(OFFSET_OF(owners)),
	{ "table", 0, GMT_OPTION_TEXTS, "NAME", OFFSET_OF(tables),
		"write table NAME only, such as sites; may be repeated (default: all tables)" },
	{ "partition", 0, GMT_OPTION_WORDS, PARTITION_WORDS, OFFSET_OF(partition),
		"write a folder for each job, host or rank, such as DIR/sites/rank=3 (default: one file "
		"for each job, which engines read faster)" },
	{ "parallel", 0, GMT_OPTION_NUMBER, "N", OFFSET_OF(parallel),
		"number of processes that read recordings (default: one for each processor)" },
	{ "python", 0, GMT_OPTION_TEXT, "PROGRAM", OFFSET_OF(python),
		"the Python that has pyarrow (default: the one of this installation, else python3)" },
	{ "strict", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(strict),
		"exit with 4 if a recording is incomplete or could not be read" },
	{ "force", 0, GMT_OPTION_FLAG, NULL, OFFSET_OF(force),
		"replace an older export in the folder, or a recording" },
	{ 0 },
};
#undef OFFSET_OF

static int export_tables(const struct gmt_export_options *options, int count, char **paths)
{
	if (count && options->output)
		return gmt_export_tables(options, count, paths);
	gmt_message_error(count ? "export: --output=DIR is missing: the new folder for the files"
							: "export: no recording or folder is given");
	return GMT_EXIT_USAGE;
}

int gmt_cmd_export(const struct gmt_command *command, int argc, char **argv)
{
	struct gmt_export_options options = GMT_EXPORT_OPTIONS_UNSET;
	int code = gmt_options_parse(command, &options, false, &argc, argv);
	enum gmt_export_kind kind;

	if (code >= 0)
		return code;
	if (!gmt_export_options_check(&options, "export", &gmt_export_formats[options.format]))
		return GMT_EXIT_USAGE;
	kind = gmt_export_formats[options.format].kind;
	if (kind == GMT_EXPORT_TABLES)
		return export_tables(&options, argc, argv);
	if (argc > 1 && kind != GMT_EXPORT_DATABASE) {
		gmt_message_error("export: --format=%s takes one recording",
			gmt_export_formats[options.format].name);
		return GMT_EXIT_USAGE;
	}
	if (!gmt_default_recording("export", &argc, argv))
		return GMT_EXIT_USAGE;
	if (kind == GMT_EXPORT_DATABASE)
		return gmt_export_database(&options, argc, argv);
	return gmt_export_file(&options, argv[0]);
}
