/* SPDX-License-Identifier: MIT */
#include "tools/export/export_file.h"

#include <stdio.h>
#include <string.h>

#include "analysis/overview/overview.h"
#include "base/safe_text.h"
#include "base/text.h"
#include "render/export/export.h"
#include "reader/steps/phases.h"
#include "render/export/frames.h"
#include "tools/output/exit_codes.h"
#include "tools/output/message.h"
#include "tools/output/output.h"
#include "tools/output/default_output_name.h"
#include "tools/pipeline/owner_options.h"
#include "tools/pipeline/resolve_moment.h"
#include "tools/pipeline/symbol_options.h"
#include "tools/pipeline/work_limit.h"
#include "tools/recordings/load_input.h"

struct state {
	const struct gmt_export_options *options;
	const struct gmt_export_format_info *format;
	const void *user; /* of the writer */
	struct gmt_owner_rules owners;
	struct gmt_recording *recording;
	struct gmt_traces traces;
	struct gmt_timeline timeline;
	struct gmt_stretch_range range;
	struct gmt_stretch stretch;
	struct gmt_profile_groups groups;
	struct gmt_replay replay;
	struct gmt_profile profile;
	struct gmt_export export;
};

static bool has_stretch(const struct state *state)
{
	return gmt_stretch_is_given(&state->options->stretch);
}

static bool has_groups(const struct state *state)
{
	return state->options->by != GMT_EXPORT_UNSET;
}

static enum gmt_status name_frames(struct state *state, struct gmt_error *error)
{
	const struct gmt_export_options *options = state->options;
	struct gmt_traces_options traces = {
		.native =
			(enum gmt_traces_native)(options->native == GMT_EXPORT_UNSET ? 0 : options->native),
		.symbol_directories = options->symbol_paths.items,
		.symbol_directory_count = options->symbol_paths.count,
		.symbols_cache = options->no_symbol_cache ? NULL : gmt_symbols_cache_open(),
		.owner_rules = &state->owners,
	};
	enum gmt_status status = gmt_traces_compute(&state->traces, state->recording, &traces, error);

	gmt_symbols_cache_close(traces.symbols_cache);
	return status;
}

/*
 * Returns whether the file or an option refers to steps or phases. To find them takes a quarter of
 * the time of an export.
 */
static bool needs_steps(const struct state *state)
{
	const struct gmt_export_options *options = state->options;
	enum gmt_moment_kind at = options->at.kind;

	return state->format->options & GMT_EXPORT_STEPS || has_stretch(state) ||
		options->until.kind != GMT_MOMENT_NOT_GIVEN || at == GMT_MOMENT_STEP ||
		options->by == GMT_TABLE_STEP || options->by == GMT_TABLE_PHASE ||
		options->by == GMT_TABLE_CATEGORY;
}

static enum gmt_status find_steps(struct state *state, struct gmt_error *error)
{
	state->timeline.work_end = gmt_phases_work_end(state->recording);
	return needs_steps(state)
		? gmt_timeline_compute(&state->timeline, state->recording, &state->traces, error)
		: GMT_OK;
}

/*
 * Finds the moments of --at, --until, --from and --phase. In a profile, --at=peak and --at=end
 * choose a number; other moments end the replay.
 */
static enum gmt_status find_range(struct state *state, struct gmt_error *error)
{
	const struct gmt_export_options *options = state->options;
	enum gmt_moment_kind at = options->at.kind;
	bool is_end = at != GMT_MOMENT_NOT_GIVEN &&
		(state->format->kind == GMT_EXPORT_EVENTS ||
			(at != GMT_MOMENT_PEAK && at != GMT_MOMENT_END));
	struct gmt_moment until = is_end ? options->at : options->until;
	uint64_t until_ns;
	enum gmt_status status;

	if (until.kind == GMT_MOMENT_NOT_GIVEN && state->format->options & GMT_EXPORT_TO_WORK_END)
		until.kind = GMT_MOMENT_END;
	status = gmt_resolve_moment(&until, state->recording, &state->traces, &state->timeline,
		&until_ns, error);
	if (status)
		return status;
	state->range = (struct gmt_stretch_range){ .until_ns = until_ns, .phase = SIZE_MAX };
	return has_stretch(state)
		? gmt_stretch_resolve(&options->stretch, state->recording, &state->traces, &state->timeline,
			  until_ns, &state->range, error)
		: GMT_OK;
}

/* Replays the recording, for the numbers of the profile and for the default layer. */
static enum gmt_status replay(struct state *state, struct gmt_error *error)
{
	struct gmt_replay_observer observers[2];
	struct gmt_replay_options options = { .until_ns = state->range.until_ns,
		.observers = observers };
	const struct gmt_replay_observer *observer;
	enum gmt_status status;

	if (has_stretch(state)) {
		gmt_stretch_init(&state->stretch, state->recording, state->range.first);
		observers[options.observer_count++] = state->stretch.observer;
	}
	if (has_groups(state)) {
		status =
			gmt_profile_groups_init(&state->groups, (enum gmt_table_grouping)state->options->by,
				state->recording, &state->traces, &state->timeline,
				has_stretch(state) ? &state->stretch : NULL, state->range.until_ns, error);
		if (status)
			return status;
		if ((observer = gmt_profile_groups_observer(&state->groups)))
			observers[options.observer_count++] = *observer;
	}
	return gmt_replay_run(&state->replay, state->recording, &state->traces, &options, error);
}

/* Chooses the device with the highest peak in the layer, and notes that it leaves out others. */
static void choose_device(struct state *state)
{
	const struct gmt_accounting *accounting = &state->replay.accounting;
	struct gmt_profile_choice *choice = &state->export.choice;
	const struct gmt_account *fullest = NULL;
	size_t count = 0;

	for (size_t i = 0; i < accounting->accounts.count; i++) {
		const struct gmt_account *account = &accounting->accounts.items[i];

		if (account->layer != choice->layer || !account->alloc_count)
			continue;
		count++;
		if (!fullest || account->peak_bytes > fullest->peak_bytes)
			fullest = account;
	}
	if (!fullest)
		return;
	choice->has_device = true;
	choice->device = fullest->device;
	if (count > 1)
		snprintf(state->export.left_out, sizeof(state->export.left_out),
			"only the memory of %s is included, because the format has no devices; "
			"--device chooses another",
			gmt_device_text(choice->device).text);
}

static bool has_account(const struct state *state)
{
	const struct gmt_accounting *accounting = &state->replay.accounting;

	for (size_t i = 0; i < accounting->accounts.count; i++)
		if (accounting->accounts.items[i].alloc_count &&
			gmt_profile_includes(&state->export.choice, accounting->accounts.items[i].layer,
				accounting->accounts.items[i].device))
			return true;
	return false;
}

/* Sets the layer and the device to export. Fails if they have no memory. */
static enum gmt_status choose(struct state *state, struct gmt_error *error)
{
	const struct gmt_export_options *options = state->options;
	struct gmt_profile_choice *choice = &state->export.choice;
	const struct gmt_account *account = gmt_overview_find_account(&state->replay.accounting);

	if (options->device)
		choice->has_device = gmt_export_device_parse(options->device, &choice->device);
	if (options->layer != GMT_EXPORT_UNSET)
		choice->layer = (uint8_t)(options->layer + 1);
	else if (state->format->options & GMT_EXPORT_ONE_LAYER)
		choice->layer = account ? account->layer : GMT_LAYER_CUDA;
	if (!options->device && state->format->options & GMT_EXPORT_ONE_DEVICE)
		choose_device(state);
	if (has_account(state))
		return GMT_OK;
	return gmt_error_set(error, GMT_USAGE, "%s: nothing was allocated%s%s%s%s",
		state->recording->path, choice->layer ? " in layer " : "",
		choice->layer ? gmt_layer_name(choice->layer) : "", choice->has_device ? " on " : "",
		choice->has_device ? gmt_device_text(choice->device).text : "");
}

/* Chooses the number of a format that shows one for each stack. */
static enum gmt_profile_value value_of(const struct gmt_export_options *options)
{
	bool is_live = options->at.kind != GMT_MOMENT_NOT_GIVEN && options->at.kind != GMT_MOMENT_PEAK;

	switch (options->value) {
	case GMT_EXPORT_VALUE_BLOCKS:
		return is_live ? GMT_PROFILE_LIVE_BLOCKS : GMT_PROFILE_PEAK_BLOCKS;
	case GMT_EXPORT_VALUE_ALLOCATED:
		return GMT_PROFILE_ALLOCATED_BYTES;
	case GMT_EXPORT_VALUE_ALLOCATIONS:
		return GMT_PROFILE_ALLOCATIONS;
	default:
		return is_live ? GMT_PROFILE_LIVE_BYTES : GMT_PROFILE_PEAK_BYTES;
	}
}

static enum gmt_status prepare(struct state *state, struct gmt_error *error)
{
	enum gmt_status status;

	if ((status = name_frames(state, error)) || (status = find_steps(state, error)) ||
		(status = find_range(state, error)) || (status = replay(state, error)))
		return status;
	state->export = (struct gmt_export){
		.recording = state->recording,
		.traces = &state->traces,
		.timeline = &state->timeline,
		.replay = &state->replay,
		.value = value_of(state->options),
		.first = state->range.first,
		.until_ns = state->range.until_ns,
		.max_events = state->options->max_events,
		.user = state->user,
	};
	if ((status = choose(state, error)))
		return status;
	if (state->format->kind != GMT_EXPORT_PROFILE)
		return GMT_OK;
	state->export.profile = &state->profile;
	return gmt_profile_compute(&state->profile, &state->export.choice, &state->replay,
		&state->traces, has_stretch(state) ? &state->stretch : NULL,
		has_groups(state) ? &state->groups : NULL, error);
}

/* Says what the file lacks, on stderr. */
static void report_left_out(const struct state *state)
{
	const struct gmt_recording *recording = state->recording;

	if (*state->export.left_out)
		gmt_message_warning("%s: %s", recording->path, state->export.left_out);
	if (state->format->kind == GMT_EXPORT_EVENTS && recording->compacted.exists)
		gmt_message_warning("%s: %s folded events are not included; the blocks that they left are",
			recording->path, gmt_text_count(gmt_recording_compacted_events(recording)).text);
	gmt_work_limit_report(recording->path);
}

/* Says what was written, and which layers were not. */
static void report_written(const struct state *state, const char *output)
{
	const struct gmt_accounting *accounting = &state->replay.accounting;
	uint32_t others = 0;

	gmt_safe_print(stdout, "wrote ");
	gmt_safe_print(stdout, output);
	if (!(state->format->options & GMT_EXPORT_ONE_LAYER)) {
		putchar('\n');
		return;
	}
	for (size_t i = 0; i < accounting->accounts.count; i++)
		if (accounting->accounts.items[i].peak_bytes &&
			gmt_layer_can_leak(accounting->accounts.items[i].layer))
			others |= UINT32_C(1) << accounting->accounts.items[i].layer;
	others &= ~(UINT32_C(1) << state->export.choice.layer);
	printf(": layer %s", gmt_layer_name(state->export.choice.layer));
	for (unsigned layer = 0; layer < GMT_ACCOUNTING_LAYERS; layer++)
		if (others >> layer & 1)
			printf(", not %s (--layer=%s)", gmt_layer_name(layer), gmt_layer_name(layer));
	putchar('\n');
}

static int load_and_write(struct state *state, const char *path, FILE *file)
{
	struct gmt_error error = { 0 };
	int code = gmt_owner_options_load_rules(&state->options->owners, &state->owners);

	if (!code)
		code = gmt_input_load(path, &state->recording);
	if (code)
		return code;
	if (prepare(state, &error) || state->format->write(&state->export, file, &error))
		return gmt_message_failure(&error);
	report_left_out(state);
	return state->options->strict && !gmt_recording_complete(state->recording) ? GMT_EXIT_INCOMPLETE
																			   : 0;
}

static void fini(struct state *state)
{
	gmt_profile_fini(&state->profile);
	gmt_replay_fini(&state->replay);
	gmt_profile_groups_fini(&state->groups);
	gmt_stretch_fini(&state->stretch);
	gmt_timeline_fini(&state->timeline);
	gmt_traces_fini(&state->traces);
	gmt_recording_free(state->recording);
	gmt_owner_rules_fini(&state->owners);
}

int gmt_export_show(const struct gmt_export_options *options,
	const struct gmt_export_format_info *format, const void *user, const char *path, FILE *file)
{
	struct state state = { .options = options, .format = format, .user = user };
	int code = load_and_write(&state, path, file);

	fini(&state);
	return code;
}

int gmt_export_file(const struct gmt_export_options *options, const char *path)
{
	struct state state = { .options = options, .format = &gmt_export_formats[options->format] };
	char buffer[PATH_MAX];
	const char *to = options->output ? options->output
									 : gmt_default_output_name(path, state.format->suffix, buffer);
	const struct gmt_output_rules rules = {
		.inputs = { { &path, 1 }, { options->owners.items, options->owners.count } },
		.force = options->force,
	};
	struct gmt_output *output = gmt_output_open_document(to, &rules);
	int code;

	if (!output)
		return GMT_EXIT_UNREADABLE;
	code = load_and_write(&state, path, gmt_output_file(output));
	if (code && code != GMT_EXIT_INCOMPLETE)
		gmt_output_discard(output);
	else
		code = gmt_output_close(output, code);
	if ((!code || code == GMT_EXIT_INCOMPLETE) && strcmp(to, "-") != 0)
		report_written(&state, to);
	fini(&state);
	return code;
}
