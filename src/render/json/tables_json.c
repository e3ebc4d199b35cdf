/* SPDX-License-Identifier: MIT */
#include "analysis/history/categories.h"
#include "reader/load/clock.h"
#include "render/stack_json.h"
#include "render/memory_names.h"
#include "render/allocator_state.h"

enum { MAX_DETAILED_ACCOUNTS = GMT_ALLOCATOR_STATE_MAX_ACCOUNTS };

static void render_place(uint32_t layer, int32_t device, struct gmt_json *json)
{
	gmt_json_key_text(json, "layer", gmt_layer_name(layer));
	gmt_json_key_device(json, device);
}

/* Writes the identity of a row: a frame, a step, or a name. */
static void render_name(const struct gmt_allocator_state_view *view, enum gmt_table_grouping key,
	const struct gmt_table_row *row, struct gmt_json *json)
{
	bool in_step = row->series < GMT_TIMELINE_SERIES;

	switch (key) {
	case GMT_TABLE_LINE:
	case GMT_TABLE_FUNCTION:
		gmt_json_key(json, "frame");
		if (row->place_plus_1)
			gmt_frame_json(view->traces, row->place_plus_1 - 1, json);
		else
			gmt_json_null(json);
		break;
	case GMT_TABLE_STEP:
		gmt_json_key_text(json, "series",
			in_step ? gmt_step_source_name(view->timeline->series[row->series].source) : NULL);
		gmt_json_key_known(json, "step", in_step, row->step);
		break;
	default:
		gmt_json_key_text(json, "name", row->name);
	}
}

static void render_peak(const struct gmt_allocator_state_view *view,
	const struct gmt_account *account, struct gmt_json *json)
{
	static const char *const keys[] = { "by_owner", "by_category", "by_part", "by_phase",
		"by_step" };
	size_t count;

	gmt_json_begin_object(json);
	render_place(account->layer, account->device, json);
	gmt_json_key_u64(json, "peak_bytes", account->peak_bytes);
	gmt_json_key_u64(json, "peak_blocks", account->peak_blocks);
	gmt_json_key_u64(json, "time_ns", gmt_clock_time_ns(view->recording, account->peak_stamp));
	for (size_t i = 0; i < GMT_PEAK_TABLES; i++) {
		const struct gmt_table *table = &view->peaks[i];
		const struct gmt_table_row *row =
			gmt_table_rows_of(table, account->layer, account->device, &count);

		gmt_json_key_array(json, keys[i]);
		for (; count && row->peak_blocks; count--, row++) {
			gmt_json_begin_object(json);
			render_name(view, table->key, row, json);
			gmt_json_key_u64(json, "bytes", row->peak_bytes);
			gmt_json_key_u64(json, "blocks", row->peak_blocks);
			gmt_json_end_object(json);
		}
		gmt_json_end_array(json);
	}
	gmt_json_end_object(json);
}

void gmt_peaks_json(const struct gmt_allocator_state_view *view, struct gmt_json *json)
{
	const struct gmt_accounting *accounting = &view->replay->accounting;

	gmt_json_key_array(json, "peaks");
	for (size_t i = 0; i < accounting->accounts.count && i < MAX_DETAILED_ACCOUNTS; i++)
		if (accounting->accounts.items[i].peak_number)
			render_peak(view, &accounting->accounts.items[i], json);
	gmt_json_end_array(json);
}

/*
 * Writes the tensors of one module, by purpose. Null: the row stands for calls of modules of these
 * classes.
 */
static void render_instance(const struct gmt_allocator_state_view *view,
	const struct gmt_table_row *row, struct gmt_json *json)
{
	const struct gmt_table_instance *instance;

	gmt_json_key(json, "instance");
	if (!row->instance_plus_1) {
		gmt_json_null(json);
		return;
	}
	instance = &view->table->instances.items[row->instance_plus_1 - 1];
	gmt_json_begin_array(json);
	for (uint8_t role = GMT_ROLE_NONE + 1; role < GMT_ROLES; role++) {
		if (!instance->roles[role].total_bytes)
			continue;
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "category", gmt_category_name(gmt_category_of_role(role)));
		gmt_json_key_u64(json, "peak_bytes", instance->roles[role].peak_bytes);
		gmt_json_key_u64(json, "live_bytes", instance->roles[role].live_bytes);
		gmt_json_key_u64(json, "total_bytes", instance->roles[role].total_bytes);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void render_row(const struct gmt_allocator_state_view *view, const struct gmt_table_row *row,
	struct gmt_json *json)
{
	gmt_json_begin_object(json);
	render_place(row->layer, row->device, json);
	render_name(view, view->table->key, row, json);
	gmt_json_key_u64(json, "peak_bytes", row->peak_bytes);
	gmt_json_key_u64(json, "peak_blocks", row->peak_blocks);
	gmt_json_key_u64(json, "live_bytes", row->live_bytes);
	gmt_json_key_u64(json, "live_blocks", row->live_blocks);
	gmt_json_key_u64(json, "total_bytes", row->total_bytes);
	gmt_json_key_u64(json, "allocs", row->allocs);
	gmt_json_key_u64(json, "largest_bytes", row->largest_bytes);
	if (view->table->key == GMT_TABLE_OWNER)
		gmt_json_key_u64(json, "max_live_bytes", row->max_live_bytes);
	if (view->table->key == GMT_TABLE_MODULE)
		render_instance(view, row, json);
	gmt_json_key_u64(json, "sites", row->sites);
	gmt_json_end_object(json);
}

void gmt_tables_json(const struct gmt_allocator_state_view *view, struct gmt_json *json)
{
	gmt_json_key_array(json, "tables");
	if (view->table) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "by", gmt_table_key_name(view->table->key));
		gmt_json_key_array(json, "rows");
		for (size_t i = 0; i < view->table->rows.count && i < view->limit; i++)
			render_row(view, &view->table->rows.items[i], json);
		gmt_json_end_array(json);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}
