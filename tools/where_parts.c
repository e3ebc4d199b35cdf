/* SPDX-License-Identifier: MIT */
#include "tools/where_parts.h"

enum gmt_status gmt_where_parts_init(struct gmt_where_parts *parts, const struct gmt_snapshot *snapshot,
	const struct gmt_traces *traces, const struct gmt_timeline *timeline, const struct gmt_replay *replay,
	const struct gmt_history *history, const struct gmt_sites *sites, uint64_t until_ns, int by,
	enum gmt_sites_key key, struct gmt_error *error)
{
	static const enum gmt_table_key keys[GMT_PEAK_KEYS] = {
		GMT_TABLE_OWNER, GMT_TABLE_CATEGORY, GMT_TABLE_PART, GMT_TABLE_PHASE, GMT_TABLE_STEP,
	};
	struct gmt_where_view *view = &parts->view;
	enum gmt_status status;

	*view = (struct gmt_where_view){
		.snapshot = snapshot, .traces = traces, .replay = replay, .timeline = timeline,
		.where = &parts->where, .temporaries = &parts->temporaries, .key = key, .limit = UINT64_MAX,
	};
	if ((status = gmt_where_init(&parts->where, snapshot, traces, timeline, replay, until_ns, error)) ||
		(status = gmt_temporaries_init(&parts->temporaries, traces, timeline, history, sites,
			 &parts->where.giants, error)))
		return status;
	for (size_t i = 0; i < GMT_PEAK_KEYS; i++)
		if ((status = gmt_table_init(&view->peaks[i], keys[i], traces, replay, history, sites,
			     &parts->where, GMT_SITES_BY_PEAK, error)))
			return status;
	if (by < 0)
		return GMT_OK;
	view->by = &parts->by;
	return gmt_table_init(&parts->by, (enum gmt_table_key)by, traces, replay, history, sites, &parts->where,
		key, error);
}

void gmt_where_parts_fini(struct gmt_where_parts *parts)
{
	for (size_t i = 0; i < GMT_PEAK_KEYS; i++)
		gmt_table_fini(&parts->view.peaks[i]);
	gmt_table_fini(&parts->by);
	gmt_temporaries_fini(&parts->temporaries);
	gmt_where_fini(&parts->where);
}
