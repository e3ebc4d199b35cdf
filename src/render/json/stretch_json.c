/* SPDX-License-Identifier: MIT */
#include "render/stretch.h"

#include "reader/load/clock.h"
#include "render/recording_head.h"
#include "render/phase_memory.h"
#include "render/memory_names.h"
#include "render/stack_json.h"

static void render_account(const struct gmt_stretch_view *view, size_t id, struct gmt_json *json)
{
	const struct gmt_account *account_row = &view->replay->accounting.accounts.items[id];
	const struct gmt_stretch_account *account = &view->stretch->accounts.items[id];

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "layer", gmt_layer_name(account_row->layer));
	gmt_json_key_device(json, account_row->device);
	gmt_json_key_u64(json, "begin_live_bytes", account->begin_live_bytes);
	gmt_json_key_u64(json, "begin_live_blocks", account->begin_live_blocks);
	gmt_json_key_u64(json, "end_live_bytes", account->end_live_bytes);
	gmt_json_key_u64(json, "end_live_blocks", account->end_live_blocks);
	gmt_json_key_u64(json, "peak_bytes", account->peak_bytes);
	gmt_json_key_u64(json, "peak_blocks", account->peak_blocks);
	gmt_json_key_u64(json, "peak_time_ns",
		account->peak_stamp ? gmt_clock_time_ns(view->recording, account->peak_stamp)
							: view->from_ns);
	gmt_json_key_u64(json, "allocs", account->allocs);
	gmt_json_key_u64(json, "alloc_bytes", account->alloc_bytes);
	gmt_json_key_u64(json, "frees", account->frees);
	gmt_json_key_u64(json, "freed_bytes", account->freed_bytes);
	gmt_json_end_object(json);
}

static void render_site(const struct gmt_stretch_view *view, uint32_t id, struct gmt_json *json)
{
	const struct gmt_accounting *accounting = &view->replay->accounting;
	const struct gmt_account_site *account_site = &accounting->sites.items[id];
	const struct gmt_account *account = &accounting->accounts.items[account_site->account];
	const struct gmt_stretch_site *site = &view->stretch->sites.items[id];
	struct gmt_space_text space =
		gmt_space_text(accounting->spaces.items[account_site->space].space);
	uint32_t stack = view->replay->site_stacks.items[id];

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "layer", gmt_layer_name(account->layer));
	gmt_json_key_device(json, account->device);
	gmt_json_key_text(json, "space", space.text);
	gmt_json_key_u64(json, "allocs", site->allocs);
	gmt_json_key_u64(json, "alloc_bytes", site->alloc_bytes);
	gmt_json_key_u64(json, "left_bytes", site->left_bytes);
	gmt_json_key_u64(json, "left_blocks", site->left_blocks);
	gmt_json_key_u64(json, "peak_bytes", site->peak_bytes);
	gmt_json_key_u64(json, "peak_blocks", site->peak_blocks);
	gmt_json_key_u64(json, "own_frame", gmt_traces_own_line(view->traces, stack));
	gmt_stack_json(view->traces, stack, json);
	gmt_json_end_object(json);
}

void gmt_stretch_json(const struct gmt_stretch_view *view, struct gmt_json *json)
{
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "schema", "gpumemtrace.stretch/1");
	gmt_json_key_text(json, "file", view->recording->path);
	gmt_json_key_bool(json, "complete", gmt_recording_complete(view->recording));
	gmt_recording_head_json_in_progress(json, view->recording);
	gmt_recording_head_json_remarks(json, view->warnings);
	gmt_json_key_texts(json, "notes", view->recording->notes.items, view->recording->notes.count);
	gmt_json_key_text(json, "phase", view->phase);
	gmt_json_key_u64(json, "from_ns", view->from_ns);
	gmt_json_key_u64(json, "until_ns", view->replay->end_time_ns);
	gmt_json_key_array(json, "accounts");
	for (size_t id = 0; id < view->stretch->accounts.count; id++)
		render_account(view, id, json);
	gmt_json_end_array(json);
	if (view->memory)
		gmt_phase_memory_json(view->memory, view->recording, json);
	gmt_json_key_array(json, "sites");
	for (uint32_t id = 0, written = 0; id < view->stretch->sites.count && written < view->limit;
		id++)
		if (view->stretch->sites.items[id].allocs) {
			render_site(view, id, json);
			written++;
		}
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}
