/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/allocator_state_parts.h"

static enum gmt_status make_table(struct gmt_table *ret_table, const struct gmt_pipeline *parts,
	enum gmt_table_key by, enum gmt_sites_key key, struct gmt_error *error)
{
	struct gmt_table_input input = {
		.traces = &parts->traces,
		.replay = &parts->replay,
		.history = &parts->history,
		.sites = &parts->sites,
		.where = &parts->where,
	};

	return gmt_table_init(ret_table, by, &input, key, error);
}

enum gmt_status gmt_allocator_state_parts_init(struct gmt_allocator_state_parts *ret_state,
	const struct gmt_pipeline *parts, int by, enum gmt_sites_key key, struct gmt_error *error)
{
	static const enum gmt_table_key keys[GMT_PEAK_KEYS] = {
		GMT_TABLE_OWNER,
		GMT_TABLE_CATEGORY,
		GMT_TABLE_PART,
		GMT_TABLE_PHASE,
		GMT_TABLE_STEP,
	};
	struct gmt_allocator_state_view *view = &ret_state->view;
	enum gmt_status status;

	*view = (struct gmt_allocator_state_view){
		.snapshot = parts->snapshot,
		.traces = &parts->traces,
		.replay = &parts->replay,
		.timeline = &parts->timeline,
		.where = &parts->where,
		.temporaries = &ret_state->temporaries,
		.key = key,
		.limit = UINT64_MAX,
	};
	if ((status = gmt_temporaries_init(&ret_state->temporaries, &parts->traces, &parts->timeline,
			 &parts->history, &parts->sites, &parts->where.short_lived, error)))
		return status;
	for (size_t i = 0; i < GMT_PEAK_KEYS; i++)
		if ((status = make_table(&view->peaks[i], parts, keys[i], GMT_SITES_BY_PEAK, error)))
			return status;
	if (by < 0)
		return GMT_OK;
	view->by = &ret_state->by;
	return make_table(&ret_state->by, parts, (enum gmt_table_key)by, key, error);
}

void gmt_allocator_state_parts_fini(struct gmt_allocator_state_parts *where)
{
	for (size_t i = 0; i < GMT_PEAK_KEYS; i++)
		gmt_table_fini(&where->view.peaks[i]);
	gmt_table_fini(&where->by);
	gmt_temporaries_fini(&where->temporaries);
}
