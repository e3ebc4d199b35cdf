/* SPDX-License-Identifier: MIT */
/* The tables `sites` and `findings`. */
#include "analysis/history/categories.h"
#include "library/tables/table_texts.h"

GMT_TABLE_FUNCTIONS(sites)
GMT_TABLE_FUNCTIONS(findings)

static void set_amounts(struct gmt_row_sites *row, const struct gmt_site *site)
{
	row->peak_bytes = site->peak_bytes;
	row->peak_blocks = site->peak_blocks;
	row->live_bytes = site->live_at_end_bytes;
	row->live_blocks = site->live_at_end_blocks;
	row->left_bytes = site->live_at_exit_bytes;
	row->left_blocks = site->live_at_exit_blocks;
	row->max_live_bytes = site->max_live_bytes;
	row->total_bytes = site->total_bytes;
	row->allocs = site->alloc_count;
	row->frees = site->free_count;
}

static bool add_site(struct gmt_read_cursor *cursor, struct gmt_stack_text_table *names,
	const struct gmt_site *site)
{
	const struct gmt_pipeline *pipeline = &cursor->recording->pipeline;
	const struct gmt_stack_texts *texts = gmt_stack_text_table_get(names, cursor, site->stack);
	const struct gmt_thread *thread = gmt_recording_thread(pipeline->recording, site->thread);
	uint32_t heap_plus_1 = pipeline->replay.accounting.sites.items[site->id].heap_plus_1;
	struct gmt_row_sites *row = gmt_cursor_add_row(cursor);
	int32_t text;

	if (!row)
		return false;
	row->site_id = site->id;
	row->layer = gmt_table_text_layer(cursor, GMT_COLUMN_sites_layer, site->layer);
	row->space = gmt_table_text_space(cursor, GMT_COLUMN_sites_space, site->space);
	row->device = site->device;
	set_amounts(row, site);
	GMT_SET_KNOWN(row, sites, stack_id, gmt_stack_has_frames(cursor, site->stack), site->stack);
	GMT_SET_KNOWN(row, sites, line, texts->line >= 0, texts->line);
	GMT_SET_KNOWN(row, sites, function, texts->function >= 0, texts->function);
	GMT_SET_KNOWN(row, sites, operator, texts->operator >= 0, texts->operator);
	GMT_SET_KNOWN(row, sites, module, texts->module >= 0, texts->module);
	row->owner = gmt_cursor_intern_text(cursor, GMT_COLUMN_sites_owner,
		gmt_owners_name(&pipeline->traces.owners, site->owner));
	row->category = gmt_cursor_intern_text(cursor, GMT_COLUMN_sites_category,
		gmt_category_name(gmt_category_of(&pipeline->replay, &pipeline->traces, &pipeline->history,
			site->id)));
	text =
		gmt_table_text_intern(cursor, GMT_COLUMN_sites_thread, thread ? thread->name.text : NULL);
	GMT_SET_KNOWN(row, sites, thread, text >= 0, text);
	text = gmt_table_text_intern(cursor, GMT_COLUMN_sites_heap,
		heap_plus_1 ? pipeline->replay.heaps.items[heap_plus_1 - 1].name : NULL);
	GMT_SET_KNOWN(row, sites, heap, text >= 0, text);
	return true;
}

bool gmt_open_sites(struct gmt_read_cursor *cursor)
{
	const struct gmt_sites *sites = &cursor->recording->pipeline.sites;
	struct gmt_stack_text_table names;
	bool ok = gmt_stack_text_table_init(&names, cursor,
		(struct gmt_stack_columns){
			.line = GMT_COLUMN_sites_line,
			.function = GMT_COLUMN_sites_function,
			.operator = GMT_COLUMN_sites_operator,
			.module = GMT_COLUMN_sites_module,
			.library = GMT_READ_NO_COLUMN,
		});

	for (size_t i = 0; ok && i < sites->rows.count; i++)
		if (gmt_filter_device(cursor, sites->rows.items[i].device) &&
			gmt_filter_layer(cursor, sites->rows.items[i].layer))
			ok = add_site(cursor, &names, &sites->rows.items[i]);
	gmt_stack_text_table_fini(&names);
	return ok && !cursor->failed;
}

GMT_ROWS_ARE_MADE_AT_OPEN(sites)

static void set_growth(struct gmt_read_cursor *cursor, struct gmt_row_findings *row,
	const struct gmt_leak *leak)
{
	bool is_growth = GMT_LEAK_BY_STEPS >> leak->definition & 1;

	GMT_SET_KNOWN(row, findings, blocks, leak->definition != GMT_LEAK_UNEXPLAINED, leak->blocks);
	GMT_SET_KNOWN(row, findings, bytes_per_step, leak->bytes_per_step >= 0, leak->bytes_per_step);
	GMT_SET_KNOWN(row, findings, confidence, leak->confidence >= 0, leak->confidence);
	GMT_SET_KNOWN(row, findings, ground, is_growth,
		gmt_cursor_intern_text(cursor, GMT_COLUMN_findings_ground,
			gmt_leak_reason_name(leak->reason)));
	GMT_SET_KNOWN(row, findings, first_step, is_growth, leak->first_step);
	GMT_SET_KNOWN(row, findings, steps, is_growth, leak->steps);
	GMT_SET_KNOWN(row, findings, steps_to_oom, leak->steps_to_oom != UINT64_MAX,
		leak->steps_to_oom);
}

static void set_stack(struct gmt_read_cursor *cursor, struct gmt_stack_text_table *names,
	struct gmt_row_findings *row, const struct gmt_leak *leak)
{
	static const struct gmt_stack_texts none = { -1, -1, -1, -1, -1 };
	const struct gmt_owners *owners = &cursor->recording->pipeline.traces.owners;
	bool has_stack = leak->stack != GMT_LEAK_NO_STACK;
	const struct gmt_stack_texts *texts =
		has_stack ? gmt_stack_text_table_get(names, cursor, leak->stack) : &none;
	int32_t hint = gmt_table_text_intern(cursor, GMT_COLUMN_findings_hint, leak->hint);

	GMT_SET_KNOWN(row, findings, stack_id, has_stack && gmt_stack_has_frames(cursor, leak->stack),
		leak->stack);
	GMT_SET_KNOWN(row, findings, line, texts->line >= 0, texts->line);
	GMT_SET_KNOWN(row, findings, function, texts->function >= 0, texts->function);
	GMT_SET_KNOWN(row, findings, owner, has_stack,
		gmt_cursor_intern_text(cursor, GMT_COLUMN_findings_owner,
			gmt_owners_name(owners,
				gmt_owners_find(owners, leak->stack, leak->layer, leak->device))));
	GMT_SET_KNOWN(row, findings, category, has_stack,
		gmt_cursor_intern_text(cursor, GMT_COLUMN_findings_category,
			gmt_category_name((enum gmt_category)leak->category)));
	GMT_SET_KNOWN(row, findings, hint, hint >= 0, hint);
}

static bool add_finding(struct gmt_read_cursor *cursor, struct gmt_stack_text_table *names,
	const struct gmt_leak *leak)
{
	struct gmt_row_findings *row = gmt_cursor_add_row(cursor);
	int32_t phase;

	if (!row)
		return false;
	row->definition = gmt_cursor_intern_text(cursor, GMT_COLUMN_findings_definition,
		gmt_leak_definition_name(leak->definition));
	row->layer = gmt_table_text_layer(cursor, GMT_COLUMN_findings_layer, leak->layer);
	row->space = gmt_table_text_space(cursor, GMT_COLUMN_findings_space, leak->space);
	row->device = leak->device;
	row->bytes = leak->bytes;
	phase = gmt_table_text_intern(cursor, GMT_COLUMN_findings_phase, leak->phase);
	GMT_SET_KNOWN(row, findings, phase, phase >= 0, phase);
	set_growth(cursor, row, leak);
	set_stack(cursor, names, row, leak);
	return true;
}

bool gmt_open_findings(struct gmt_read_cursor *cursor)
{
	const struct gmt_leaks *leaks = &cursor->recording->pipeline.leaks;
	struct gmt_stack_text_table names;
	bool ok = gmt_stack_text_table_init(&names, cursor,
		(struct gmt_stack_columns){
			.line = GMT_COLUMN_findings_line,
			.function = GMT_COLUMN_findings_function,
			.operator = GMT_READ_NO_COLUMN,
			.module = GMT_READ_NO_COLUMN,
			.library = GMT_READ_NO_COLUMN,
		});

	for (size_t i = 0; ok && i < leaks->rows.count; i++)
		if (gmt_filter_device(cursor, leaks->rows.items[i].device) &&
			gmt_filter_layer(cursor, leaks->rows.items[i].layer))
			ok = add_finding(cursor, &names, &leaks->rows.items[i]);
	gmt_stack_text_table_fini(&names);
	return ok && !cursor->failed;
}

GMT_ROWS_ARE_MADE_AT_OPEN(findings)
