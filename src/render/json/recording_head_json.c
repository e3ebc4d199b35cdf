/* SPDX-License-Identifier: MIT */
#include "render/recording_head.h"

void gmt_recording_head_json_in_progress(struct gmt_json *json,
	const struct gmt_recording *recording)
{
	if (recording->recording_pid)
		gmt_json_key_u64(json, "in_progress", recording->recording_pid);
}

void gmt_recording_head_json_remarks(struct gmt_json *json, const struct gmt_warnings *warnings)
{
	gmt_json_key(json, "remarks");
	gmt_json_begin_array(json);
	for (size_t i = 0; i < warnings->rows.count; i++)
		gmt_json_text(json, warnings->rows.items[i].text);
	gmt_json_end_array(json);
}
