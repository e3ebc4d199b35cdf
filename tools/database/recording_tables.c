/* SPDX-License-Identifier: MIT */
#include "tools/database/recording_tables.h"

#include "library/tables/recording.h"
#include "reader/symbols/symbols_cache.h"
#include "tools/output/message.h"
#include "tools/pipeline/owner_options.h"
#include "tools/pipeline/work_limit.h"
#include "tools/recordings/load_input.h"

/* Names the frames, as the options say. The library would name them with its defaults. */
static enum gmt_status name_frames(struct gpumemtrace_recording *recording,
	const struct gmt_recording_tables_options *options, const struct gmt_owner_rules *owners,
	struct gmt_error *error)
{
	struct gmt_pipeline_options names = {
		.traces = {
			.native = (enum gmt_traces_native)options->native,
			.symbol_directories = options->symbol_paths->items,
			.symbol_directory_count = options->symbol_paths->count,
			.symbols_cache = options->no_symbol_cache ? NULL : gmt_symbols_cache_open(),
			.owner_rules = owners,
		},
	};
	enum gmt_status status = gmt_pipeline_name(&recording->pipeline, &names, error);

	gmt_symbols_cache_close(names.traces.symbols_cache);
	/* The rows may spend what is left of the budget. */
	recording->budget = gmt_budget;
	if (!status)
		recording->done = GMT_WORK_NAMES;
	return status;
}

/* Adds the rows of a loaded recording. */
static enum gmt_status fill(struct gmt_database *database, struct gpumemtrace_recording *recording,
	uint32_t number, uint64_t wanted, struct gmt_error *error)
{
	const struct gmt_read_table *table;
	enum gmt_status status = GMT_OK;

	for (size_t i = 0; !status && (table = gmt_read_table_at(i)); i++)
		if (wanted >> i & 1)
			status = gmt_database_fill(database, table, recording, number, error);
	return status;
}

static int add(struct gmt_database *database, const char *path, uint32_t number, uint64_t wanted,
	const struct gmt_recording_tables_options *options, const struct gmt_owner_rules *owners,
	bool *ret_incomplete)
{
	struct gpumemtrace_recording *recording = gmt_read_recording_new();
	struct gmt_error error = { 0 };
	int code;

	if (!recording) {
		gmt_error_set(&error, GMT_NO_MEMORY, "%s: out of memory", path);
		return gmt_message_failure(&error);
	}
	code = gmt_input_load(path, &recording->pipeline.recording);
	if (!code &&
		(name_frames(recording, options, owners, &error) ||
			fill(database, recording, number, wanted, &error)))
		code = gmt_message_failure(&error);
	if (!code) {
		gmt_budget = recording->budget;
		*ret_incomplete |= !gmt_recording_complete(recording->pipeline.recording);
		gmt_work_limit_report(path);
	}
	gmt_read_recording_drop(recording);
	return code;
}

int gmt_recording_tables_list(struct gmt_database *database, const char *const *paths, size_t count)
{
	struct gmt_error error = { 0 };

	for (size_t i = 0; i < count; i++)
		if (gmt_database_add_recording(database, (uint32_t)i, paths[i], &error))
			return gmt_message_failure(&error);
	return 0;
}

int gmt_recording_tables_fill(struct gmt_database *database, const char *const *paths, size_t count,
	uint64_t wanted, const struct gmt_recording_tables_options *options, bool *ret_incomplete)
{
	struct gmt_owner_rules owners = { 0 };
	int code = gmt_owner_options_load_rules(options->owners, &owners);

	for (size_t i = 0; !code && i < count; i++)
		code = add(database, paths[i], (uint32_t)i, wanted, options, &owners, ret_incomplete);
	gmt_owner_rules_fini(&owners);
	return code;
}
