/* SPDX-License-Identifier: MIT */
/*
 * A file for speedscope: one profile for each number and device. The frames of all profiles are one
 * list: one for stacks that were not recorded, the places of `traces`, the groups of the profile.
 */
#include "base/text.h"
#include "render/export/export.h"
#include "render/export/frames.h"
#include "render/json.h"

static const char schema[] = "https://www.speedscope.app/file-format-schema.json";

/* The numbers to show. The viewer opens the first profile. */
static const enum gmt_profile_value shown[] = { GMT_PROFILE_PEAK_BYTES, GMT_PROFILE_LIVE_BYTES,
	GMT_PROFILE_ALLOCATED_BYTES, GMT_PROFILE_ALLOCATIONS };

/* The rows of one device. */
struct rows {
	const struct gmt_profile_row *items;
	size_t count;
};

static void write_frames(const struct gmt_traces *traces, const struct gmt_profile_groups *groups,
	struct gmt_json *json)
{
	gmt_json_key_array(json, "frames");
	gmt_json_begin_object(json);
	gmt_json_key_text(json, "name", GMT_EXPORT_NO_STACK);
	gmt_json_end_object(json);
	for (uint32_t id = 0; id < traces->places.entries.count; id++) {
		const struct gmt_place *place = gmt_traces_place(traces, id);
		const char *file = gmt_traces_string(traces, place->file);
		struct gmt_export_name buffer;

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", gmt_export_function(traces, place, &buffer));
		if (*file)
			gmt_json_key_text(json, "file", file);
		if (*file && place->line)
			gmt_json_key_u64(json, "line", place->line);
		gmt_json_end_object(json);
	}
	for (uint32_t id = 0; groups && id < groups->names.entries.count; id++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", gmt_profile_groups_name(groups, id));
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void write_samples(const struct gmt_export *export, const struct rows *rows,
	enum gmt_profile_value value, struct gmt_json *json)
{
	const struct gmt_traces *traces = export->traces;
	uint64_t first_group = traces->places.entries.count + UINT64_C(1);

	gmt_json_key_array(json, "samples");
	for (size_t i = 0; i < rows->count && !gmt_json_is_full(json); i++) {
		uint32_t count;
		const uint32_t *places = gmt_traces_stack(traces, rows->items[i].stack, &count);

		if (!rows->items[i].values[value])
			continue;
		gmt_json_begin_array(json);
		if (export->profile->groups)
			gmt_json_u64(json, first_group + rows->items[i].group);
		if (!count)
			gmt_json_u64(json, 0);
		for (uint32_t at = count; at-- > 0;)
			gmt_json_u64(json, places[at] + UINT64_C(1));
		gmt_json_end_array(json);
	}
	gmt_json_end_array(json);
}

static uint64_t sum_of(const struct rows *rows, enum gmt_profile_value value)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < rows->count; i++)
		sum = gmt_saturating_add_u64(sum, rows->items[i].values[value]);
	return sum;
}

static void write_profile(const struct gmt_export *export, const struct rows *rows,
	enum gmt_profile_value value, struct gmt_json *json)
{
	const struct gmt_profile_value_info *info = &gmt_profile_values[value];
	struct gmt_export_name name = gmt_export_profile(export->profile, rows->items->device, value);

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "type", "sampled");
	gmt_json_key_text(json, "name", name.text);
	gmt_json_key_text(json, "unit", info->is_bytes ? "bytes" : "none");
	gmt_json_key_u64(json, "startValue", 0);
	gmt_json_key_u64(json, "endValue", sum_of(rows, value));
	write_samples(export, rows, value, json);
	gmt_json_key_array(json, "weights");
	for (size_t i = 0; i < rows->count; i++)
		if (rows->items[i].values[value])
			gmt_json_u64(json, rows->items[i].values[value]);
	gmt_json_end_array(json);
	gmt_json_end_object(json);
}

static void write_profiles(const struct gmt_export *export, struct gmt_json *json)
{
	const struct gmt_profile *profile = export->profile;
	size_t next;

	gmt_json_key_array(json, "profiles");
	for (size_t first = 0; first < profile->rows.count; first = next) {
		struct rows rows = { &profile->rows.items[first], 0 };

		for (next = first;
			next < profile->rows.count && profile->rows.items[next].device == rows.items->device;
			next++)
			rows.count++;
		for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
			if (sum_of(&rows, shown[i]))
				write_profile(export, &rows, shown[i], json);
	}
	gmt_json_end_array(json);
}

enum gmt_status gmt_export_speedscope(struct gmt_export *export, FILE *file,
	struct gmt_error *error)
{
	struct gmt_json json = { .file = file };

	(void)error;
	gmt_json_begin_object(&json);
	gmt_json_key_text(&json, "$schema", schema);
	gmt_json_key_text(&json, "name", gmt_text_base_name(export->recording->path));
	gmt_json_key_text(&json, "exporter", "gpumemtrace");
	gmt_json_key_object(&json, "shared");
	write_frames(export->traces, export->profile->groups, &json);
	gmt_json_end_object(&json);
	write_profiles(export, &json);
	gmt_json_end_object(&json);
	fputc('\n', file);
	return GMT_OK;
}
