/* SPDX-License-Identifier: MIT */
#include "tools/database/recording_tables.h"

#include "library/tables/recording.h"
#include "reader/symbols/symbols_cache.h"
#include "tools/output/message.h"
#include "tools/pipeline/owner_options.h"
#include "tools/pipeline/work_limit.h"
#include "tools/recordings/load_input.h"
#include "tools/recordings/standard_input.h"

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

/* Loads a recording, and names its frames. Returns 0 or an exit code after an error message. */
static int load(struct gmt_recording_tables *tables, const char *path,
	struct gpumemtrace_recording **ret_recording)
{
	struct gpumemtrace_recording *recording = gmt_read_recording_new();
	struct gmt_error error = { 0 };
	int code;

	*ret_recording = NULL;
	if (!recording) {
		gmt_error_set(&error, GMT_NO_MEMORY, "%s: out of memory", path);
		return gmt_message_failure(&error);
	}
	code = gmt_input_load(path, &recording->pipeline.recording);
	if (!code && name_frames(recording, &tables->options, &tables->owners, &error))
		code = gmt_message_failure(&error);
	if (code)
		gmt_read_recording_unref(recording);
	else
		*ret_recording = recording;
	return code;
}

static struct gpumemtrace_recording *find_kept(const struct gmt_recording_tables *tables,
	size_t index)
{
	for (size_t i = 0; i < tables->kept.count; i++)
		if (tables->kept.items[i].index == index)
			return tables->kept.items[i].recording;
	return NULL;
}

/* Keeps the recording if that is useful and possible. Returns whether it is kept. */
static bool keep(struct gmt_recording_tables *tables, size_t index,
	struct gpumemtrace_recording *recording)
{
	struct gmt_kept_recording *kept;

	if (tables->count > 1 && !gmt_standard_input_is(tables->paths[index]))
		return false;
	kept = gmt_vec_push(&tables->kept);
	if (kept)
		*kept = (struct gmt_kept_recording){ index, recording };
	return kept;
}

static int add(struct gmt_recording_tables *tables, struct gmt_database *database, size_t index,
	uint64_t wanted)
{
	struct gpumemtrace_recording *recording = find_kept(tables, index);
	bool is_kept = recording;
	struct gmt_error error = { 0 };
	int code = recording ? 0 : load(tables, tables->paths[index], &recording);

	if (code)
		return code;
	if (!is_kept)
		is_kept = keep(tables, index, recording);
	if (fill(database, recording, (uint32_t)index, wanted, &error))
		code = gmt_message_failure(&error);
	if (!code) {
		gmt_budget = recording->budget;
		tables->is_incomplete |= !gmt_recording_complete(recording->pipeline.recording);
		gmt_work_limit_report(tables->paths[index]);
	}
	if (!is_kept)
		gmt_read_recording_unref(recording);
	return code;
}

int gmt_recording_tables_list(const struct gmt_recording_tables *tables,
	struct gmt_database *database)
{
	struct gmt_error error = { 0 };

	for (size_t i = 0; i < tables->count; i++)
		if (gmt_database_add_recording(database, (uint32_t)i, tables->paths[i], &error))
			return gmt_message_failure(&error);
	return 0;
}

int gmt_recording_tables_fill(struct gmt_recording_tables *tables, struct gmt_database *database,
	uint64_t wanted)
{
	int code = tables->has_owners
		? 0
		: gmt_owner_options_load_rules(tables->options.owners, &tables->owners);

	tables->has_owners |= !code;
	for (size_t i = 0; !code && i < tables->count; i++)
		code = add(tables, database, i, wanted);
	return code;
}

void gmt_recording_tables_fini(struct gmt_recording_tables *tables)
{
	for (size_t i = 0; i < tables->kept.count; i++)
		gmt_read_recording_unref(tables->kept.items[i].recording);
	gmt_vec_fini(&tables->kept);
	gmt_owner_rules_fini(&tables->owners);
}
