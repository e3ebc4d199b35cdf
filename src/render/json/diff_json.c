/* SPDX-License-Identifier: MIT */
#include "render/diff.h"
#include "render/recording_head.h"
#include "render/memory_names.h"

static const char *const side_names[] = { "base", "new" };

static void render_recording(const struct gmt_diff *diff, int side, struct gmt_json *json)
{
	const struct gmt_recording *recording = diff->sides[side].recording;
	const struct gmt_warnings *warnings = diff->sides[side].warnings;

	gmt_json_key_object(json, side_names[side]);
	gmt_json_key_text(json, "file", recording->path);
	gmt_json_key_bool(json, "complete", gmt_recording_complete(recording));
	gmt_json_key_u64(json, "events", recording->seen_events);
	gmt_json_key_texts(json, "command", recording->command.items, recording->command.count);
	gmt_json_key_text(json, "directory", recording->directory);
	gmt_json_key_text(json, "host", recording->host);
	gmt_json_key_u64(json, "pid", recording->process.pid);
	gmt_json_key_known(json, "rank", recording->process.rank >= 0,
		(uint32_t)recording->process.rank);
	gmt_json_key_u64(json, "start_time_ns", recording->process.start_time_ns);
	gmt_json_key_u64(json, "duration_ns", gmt_recording_duration_ns(recording));
	gmt_json_key_text(json, "recorder_version", recording->recorder_version);
	if (gmt_recording_is_imported(recording))
		gmt_json_key_text(json, "imported_from", recording->imported_from);
	gmt_recording_head_json_remarks(json, warnings);
	gmt_json_end_object(json);
}

static void render_pair(const char *key, const struct gmt_diff_pair *pair, struct gmt_json *json)
{
	gmt_json_key_object(json, key);
	for (int side = 0; side < GMT_DIFF_SIDES; side++)
		gmt_json_key_u64(json, side_names[side], pair->sides[side]);
	gmt_json_key_i64(json, "difference", gmt_diff_pair_change(pair));
	gmt_json_end_object(json);
}

static void render_amounts(const struct gmt_diff_pair *amounts, struct gmt_json *json)
{
	for (int amount = 0; amount < GMT_DIFF_AMOUNTS; amount++)
		render_pair(gmt_diff_amount_name(amount), &amounts[amount], json);
}

/* Writes the names of the frames of the largest stack, leaf first. */
static void render_stack(const struct gmt_diff *diff, const struct gmt_diff_row *row,
	struct gmt_json *json)
{
	int side = row->largest[GMT_DIFF_NEW] ? GMT_DIFF_NEW : GMT_DIFF_BASE;
	uint32_t count;
	const uint32_t *places =
		gmt_traces_stack(diff->sides[side].traces, row->largest[side]->stack, &count);

	gmt_json_key_array(json, "stack");
	for (uint32_t i = 0; i < count; i++)
		gmt_json_text(json, gmt_site_keys_place(&diff->keys[side], places[i]));
	gmt_json_end_array(json);
}

static void render_row(const struct gmt_diff *diff, const struct gmt_diff_row *row,
	struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "change", gmt_diff_change_name(row->change));
	gmt_json_key_text(json, "site", row->name);
	if (row->moved_from)
		gmt_json_key_text(json, "moved_from", row->moved_from);
	gmt_json_key_text(json, "hash",
		diff->options.by == GMT_DIFF_BY_STACK ? gmt_site_key_text(row->hash).text : NULL);
	render_amounts(row->amounts, json);
	render_pair("stacks", &row->sites, json);
	render_stack(diff, row, json);
	gmt_json_end_object(json);
}

static void render_hidden(const struct gmt_diff *diff, const struct gmt_diff_account *account,
	size_t shown, struct gmt_json *json)
{
	struct gmt_diff_hidden cut = { 0 };

	for (size_t i = shown; i < account->row_count; i++) {
		cut.rows++;
		cut.difference += gmt_diff_pair_change(&account->rows[i].amounts[diff->amount]);
	}
	gmt_json_key_object(json, "hidden");
	gmt_json_key_u64(json, "rows", cut.rows);
	gmt_json_key_i64(json, "difference", cut.difference);
	gmt_json_end_object(json);
}

static void render_account(const struct gmt_diff *diff, const struct gmt_diff_account *account,
	const struct gmt_diff_style *style, struct gmt_json *json)
{
	size_t shown = diff->options.threshold_bytes ? account->shown_count : account->row_count;

	shown = style->limit < shown ? (size_t)style->limit : shown;
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "layer", gmt_layer_name(account->layer));
	gmt_json_key_device(json, account->device);
	if (account->new_device != account->device)
		gmt_json_key_u64(json, "new_device", (uint64_t)account->new_device);
	render_amounts(account->amounts, json);
	render_pair("peak_time_ns", &account->peak_time_ns, json);
	render_pair("refused", &account->refused, json);
	if (account->has_reserved)
		render_pair("reserved_peak_bytes", &account->reserved_peak_bytes, json);
	gmt_json_key_object(json, "changes");
	for (int change = 0; change < GMT_DIFF_CHANGES; change++)
		gmt_json_key_u64(json, gmt_diff_change_name(change), account->changes[change]);
	gmt_json_end_object(json);
	gmt_json_key_array(json, "rows");
	for (size_t i = 0; i < shown; i++)
		render_row(diff, &account->rows[i], json);
	gmt_json_end_array(json);
	render_hidden(diff, account, shown, json);
	gmt_json_end_object(json);
}

void gmt_diff_json(const struct gmt_diff *diff, const struct gmt_diff_style *style,
	struct gmt_json *json)
{
	static const char *const keys[] = { "peak", "live", "total" };

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "schema", "gpumemtrace.diff/2");
	gmt_json_key_text(json, "by", gmt_diff_by_name(diff->options.by));
	gmt_json_key_text(json, "sort", keys[diff->options.key]);
	gmt_json_key_u64(json, "threshold_bytes", diff->options.threshold_bytes);
	gmt_json_key_u64(json, "site_key_version", GMT_SITE_KEY_VERSION);
	gmt_json_key_bool(json, "differs", diff->differs);
	for (int side = 0; side < GMT_DIFF_SIDES; side++)
		render_recording(diff, side, json);
	gmt_json_key_texts(json, "warnings", diff->uncertainties.items, diff->uncertainties.count);
	gmt_json_key_array(json, "accounts");
	for (size_t i = 0; i < diff->accounts.count; i++)
		render_account(diff, &diff->accounts.items[i], style, json);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}
