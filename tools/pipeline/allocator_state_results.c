/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/allocator_state_results.h"

static enum gmt_status make_table(struct gmt_table *ret_table, const struct gmt_pipeline *pipeline,
	enum gmt_table_grouping by, enum gmt_sites_order key, struct gmt_error *error)
{
	struct gmt_table_input input = {
		.traces = &pipeline->traces,
		.replay = &pipeline->replay,
		.history = &pipeline->history,
		.sites = &pipeline->sites,
		.allocator_state = &pipeline->allocator_state,
	};

	return gmt_table_compute(ret_table, by, &input, key, error);
}

enum gmt_status gmt_allocator_state_results_compute(struct gmt_allocator_state_results *ret_state,
	const struct gmt_pipeline *pipeline, int by, enum gmt_sites_order key, struct gmt_error *error)
{
	static const enum gmt_table_grouping keys[GMT_PEAK_TABLES] = {
		GMT_TABLE_OWNER,
		GMT_TABLE_CATEGORY,
		GMT_TABLE_PART,
		GMT_TABLE_PHASE,
		GMT_TABLE_STEP,
	};
	struct gmt_allocator_state_view *view = &ret_state->view;
	enum gmt_status status;

	*view = (struct gmt_allocator_state_view){
		.recording = pipeline->recording,
		.traces = &pipeline->traces,
		.replay = &pipeline->replay,
		.timeline = &pipeline->timeline,
		.allocator_state = &pipeline->allocator_state,
		.temporaries = &ret_state->temporaries,
		.order = key,
		.limit = UINT64_MAX,
	};
	if ((status = gmt_temporaries_compute(&ret_state->temporaries, &pipeline->traces,
			 &pipeline->timeline, &pipeline->history, &pipeline->sites,
			 &pipeline->allocator_state.short_lived, error)))
		return status;
	for (size_t i = 0; i < GMT_PEAK_TABLES; i++)
		if ((status = make_table(&view->peaks[i], pipeline, keys[i], GMT_SITES_BY_PEAK, error)))
			return status;
	if (by < 0)
		return GMT_OK;
	view->table = &ret_state->by;
	return make_table(&ret_state->by, pipeline, (enum gmt_table_grouping)by, key, error);
}

void gmt_allocator_state_results_fini(struct gmt_allocator_state_results *state)
{
	for (size_t i = 0; i < GMT_PEAK_TABLES; i++)
		gmt_table_fini(&state->view.peaks[i]);
	gmt_table_fini(&state->by);
	gmt_temporaries_fini(&state->temporaries);
}
