/* SPDX-License-Identifier: MIT */
#include "render/ledger.h"

/* Writes the members of one moment, without the braces. */
static void render_moment(const struct gmt_ledger_entry *entry, struct gmt_json *json)
{
	gmt_json_key_u64(json, "time_ns", entry->time_ns);
	gmt_json_key_known(json, "asked_at_ns", entry->has_answer, entry->answer_time_ns);
	gmt_json_key_bool(json, "moved", entry->is_adjusted);
	gmt_json_key_u64(json, "total_bytes", entry->total_bytes);
	gmt_json_key_u64(json, "used_bytes", entry->used_bytes);
	gmt_json_key_array(json, "lines");
	for (unsigned line = 0; line < GMT_LEDGER_LINES; line++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", gmt_ledger_line_name(line));
		gmt_json_key_i64(json, "bytes", entry->lines[line]);
		gmt_json_key_bool(json, "known", entry->known[line]);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_key_u64(json, "managed_bytes", entry->managed_bytes);
	gmt_json_key_u64(json, "imported_bytes", entry->imported_bytes);
}

void gmt_ledger_write_json(const struct gmt_ledger *ledger, struct gmt_json *json)
{
	gmt_json_key_array(json, "ledger");
	for (size_t i = 0; i < ledger->entries.count; i++) {
		const struct gmt_ledger_entry *entry = &ledger->entries.items[i], *peak;

		if (entry->moment != GMT_LEDGER_AT_END)
			continue;
		gmt_json_begin_object(json);
		gmt_json_key_i64(json, "device", entry->device);
		render_moment(entry, json);
		gmt_json_key(json, "at_peak");
		peak = gmt_ledger_find(ledger, entry->device, GMT_LEDGER_AT_PEAK, 0);
		if (peak) {
			gmt_json_begin_object(json);
			render_moment(peak, json);
			gmt_json_end_object(json);
		} else {
			gmt_json_null(json);
		}
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

void gmt_ledger_write_refusal_json(const struct gmt_ledger *ledger, int32_t device,
	size_t oom_index, struct gmt_json *json)
{
	const struct gmt_ledger_entry *entry =
		gmt_ledger_find(ledger, device, GMT_LEDGER_AT_REFUSAL, oom_index);

	gmt_json_key(json, "ledger");
	if (!entry) {
		gmt_json_null(json);
		return;
	}
	gmt_json_begin_object(json);
	render_moment(entry, json);
	gmt_json_end_object(json);
}
