/* SPDX-License-Identifier: MIT */
#include "tools/export/export_database.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/safe_stream.h"
#include "base/safe_text.h"
#include "render/export/export.h"
#include "system/file_io.h"
#include "system/temporary_file.h"
#include "tools/database/database_inputs.h"
#include "tools/database/database_schema.h"
#include "tools/database/recording_tables.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"
#include "tools/output/output.h"
#include "tools/output/default_output_name.h"

/* The file that SQLite writes. */
struct target {
	char path[PATH_MAX];
	int copy_from; /* descriptor of a temporary file; -1: the file is the output */
};

/* Finds the name of an open regular file. Returns false if it has none, as a pipe has not. */
static bool find_name(int fd, char ret_path[PATH_MAX])
{
	char link[64];
	struct stat open_file, named_file;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, ret_path, PATH_MAX - 1);
	if (length < 0)
		return false;
	ret_path[length] = 0;
	return !fstat(fd, &open_file) && !lstat(ret_path, &named_file) && S_ISREG(named_file.st_mode) &&
		open_file.st_dev == named_file.st_dev && open_file.st_ino == named_file.st_ino;
}

/* SQLite needs a file with a name. If the output has none, it gets a copy of a temporary file. */
static bool choose_target(struct gmt_output *output, bool is_stdout, struct target *ret_target)
{
	ret_target->copy_from = -1;
	if (!is_stdout &&
		find_name(gmt_safe_stream_descriptor(gmt_output_file(output)), ret_target->path))
		return true;
	ret_target->copy_from = gmt_temporary_file_create(ret_target->path, sizeof(ret_target->path));
	return ret_target->copy_from >= 0;
}

/* Copies the whole file. Returns false and sets errno on failure. */
static bool copy(int from, FILE *to)
{
	enum { BYTES = 1 << 18 };
	char *bytes = malloc(BYTES);
	struct stat status;
	uint64_t offset = 0;
	size_t length = 0;
	bool done = bytes && !fstat(from, &status);

	for (; done && offset < (uint64_t)status.st_size; offset += length) {
		/* A read of nothing before the end is an error. */
		errno = EIO;
		length = gmt_file_read_at(from, offset, bytes, BYTES);
		done = length && fwrite(bytes, 1, length, to) == length;
	}
	free(bytes);
	return done;
}

/*
 * Returns the tables that --table names, as bits; 0 after an error. Without --table: all, except
 * for `curve`, which is as large as `events` and follows from `blocks`.
 */
static uint64_t wanted_tables(const struct gmt_export_options *options)
{
	uint64_t wanted = 0;

	for (size_t i = 0; i < options->tables.count; i++) {
		uint64_t bit = gmt_database_table_bit(options->tables.items[i]);

		if (!bit) {
			gmt_message_error("export: --table: no table has the name `%s`",
				options->tables.items[i]);
			return 0;
		}
		wanted |= bit;
	}
	return wanted ? wanted : GMT_DATABASE_ALL_TABLES & ~gmt_database_table_bit("curve");
}

/* Fills the database. `name` is that of the output, for messages. */
static int fill(const struct gmt_export_options *options, uint64_t wanted,
	const struct target *target, const char *name, struct gmt_recording_tables *tables)
{
	struct gmt_database database = { 0 };
	struct gmt_error error = { 0 };
	int code = 0;

	tables->options = (struct gmt_recording_tables_options){
		.symbol_paths = &options->symbol_paths,
		.owners = &options->owners,
		.no_symbol_cache = options->no_symbol_cache,
		.native = options->native == GMT_EXPORT_UNSET ? 0 : options->native,
	};
	if (gmt_database_open(&database, target->path, name, wanted, &error))
		code = gmt_message_failure(&error);
	if (target->copy_from >= 0)
		unlink(target->path);
	if (!code)
		code = gmt_recording_tables_list(tables, &database);
	if (!code)
		code = gmt_recording_tables_fill(tables, &database, wanted);
	gmt_database_close(&database);
	return code;
}

static int write_database(const struct gmt_export_options *options, uint64_t wanted,
	const char *name, struct gmt_output *output, struct gmt_recording_tables *tables)
{
	struct target target;
	int code;

	if (!choose_target(output, strcmp(name, "-") == 0, &target)) {
		gmt_message_error("%s: no temporary file: %s; set TMPDIR to a folder with space", name,
			strerror(errno));
		return GMT_EXIT_UNREADABLE;
	}
	code = fill(options, wanted, &target, name, tables);
	if (target.copy_from < 0)
		return code;
	if (!code && !copy(target.copy_from, gmt_output_file(output))) {
		gmt_message_error("%s: %s", name, strerror(errno));
		code = GMT_EXIT_UNREADABLE;
	}
	close(target.copy_from);
	return code;
}

static int export_inputs(const struct gmt_export_options *options, size_t count,
	const char *const *paths, const char *first_operand)
{
	char buffer[PATH_MAX];
	const char *to = options->output ? options->output
									 : gmt_default_output_name(first_operand,
										   gmt_export_formats[options->format].suffix, buffer);
	const struct gmt_output_rules rules = {
		.inputs = { { paths, count }, { options->owners.items, options->owners.count } },
		.force = options->force,
	};
	uint64_t wanted = wanted_tables(options);
	struct gmt_recording_tables tables = { .paths = paths, .count = count };
	struct gmt_output *output;
	int code;

	if (!wanted)
		return GMT_EXIT_USAGE;
	output = gmt_output_open_document(to, &rules);
	if (!output)
		return GMT_EXIT_UNREADABLE;
	code = write_database(options, wanted, to, output, &tables);
	if (!code && tables.is_incomplete && options->strict)
		code = GMT_EXIT_INCOMPLETE;
	gmt_recording_tables_fini(&tables);
	if (code && code != GMT_EXIT_INCOMPLETE)
		gmt_output_discard(output);
	else
		code = gmt_output_close(output, code);
	if ((!code || code == GMT_EXIT_INCOMPLETE) && strcmp(to, "-") != 0) {
		gmt_safe_print(stdout, "wrote ");
		gmt_safe_print(stdout, to);
		puts("; next: gpumemtrace sql FILE \"select ...\"");
	}
	return code;
}

int gmt_export_database(const struct gmt_export_options *options, int count, char **operands)
{
	struct gmt_database_inputs inputs = { 0 };
	int code = gmt_database_inputs_find(&inputs, count, operands);

	if (!code)
		code = export_inputs(options, inputs.paths.count, inputs.paths.items, operands[0]);
	gmt_database_inputs_fini(&inputs);
	return code;
}
