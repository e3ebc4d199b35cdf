/* SPDX-License-Identifier: MIT */
/* The packet of a recording: its report, its sites and their stacks, its steps and phases. */
#include "render/page/page_write.h"

#include "analysis/history/categories.h"
#include "reader/load/clock.h"
#include "render/info.h"
#include "render/memory_names.h"

enum { MAX_STEPS = 20000 };

/* The texts of the places, each once. */
struct strings {
	struct gmt_map numbers; /* id in traces->strings to index in ids, plus 1 */
	GMT_VEC(uint32_t) ids; /* string 0 is "" */
};

/* Returns the number of a text; 0 when out of memory. */
static uint64_t number_of(struct strings *strings, uint32_t id, bool *has_failed)
{
	uint64_t number = 0;
	uint32_t *slot;

	if (!id || gmt_map_find(&strings->numbers, id, &number))
		return number;
	slot = gmt_vec_push(&strings->ids);
	number = strings->ids.count;
	if (!slot || !gmt_map_put(&strings->numbers, id, number)) {
		*has_failed = true;
		return 0;
	}
	*slot = id;
	return number;
}

static const struct gmt_place *place_of(const struct gmt_page_view *view, size_t number)
{
	static const struct gmt_place root = { 0 };

	return number
		? gmt_traces_place(view->report->traces, view->page->sites.places.items[number - 1])
		: &root;
}

static void put_places(const struct gmt_page_view *view, struct gmt_packet *packet,
	struct strings *strings)
{
	const struct gmt_traces *traces = view->report->traces;
	size_t count = view->page->sites.places.count + 1;

#define PUT(name, value) \
	gmt_packet_column(packet, "place." name); \
	for (size_t i = 0; i < count; i++) { \
		const struct gmt_place *place = place_of(view, i); \
		gmt_packet_put(packet, value); \
	}
	PUT("kind", place->kind == GMT_PLACE_PYTHON)
	PUT("function", number_of(strings, place->function, &packet->has_failed))
	PUT("file", number_of(strings, place->file, &packet->has_failed))
	PUT("line", place->line)
	PUT("module", number_of(strings, place->module, &packet->has_failed))
	PUT("own",
		i &&
			(place->kind == GMT_PLACE_PYTHON
					? gmt_traces_is_own_file(gmt_traces_string(traces, place->file))
					: gmt_traces_is_own_native(traces, place)))
#undef PUT
	gmt_packet_column(packet, "node.parent");
	for (size_t i = 0; i < view->page->sites.nodes.count; i++)
		gmt_packet_put(packet, view->page->sites.nodes.items[i].parent);
	gmt_packet_column(packet, "node.place");
	for (size_t i = 0; i < view->page->sites.nodes.count; i++)
		gmt_packet_put(packet, view->page->sites.nodes.items[i].place_plus_1);
}

static void put_sites(const struct gmt_page_view *view, struct gmt_packet *packet)
{
	const struct gmt_page_sites *sites = &view->page->sites;

#define PUT(name, value) \
	gmt_packet_column(packet, "site." name); \
	for (size_t i = 0; i < sites->rows.count; i++) { \
		const struct gmt_page_site *row = &sites->rows.items[i]; \
		const struct gmt_site *site = &row->site; \
		(void)site; \
		gmt_packet_put_signed(packet, (int64_t)(value)); \
	}
	PUT("node", row->node)
	PUT("own", row->own_node)
	PUT("layer", site->layer)
	PUT("device", site->device)
	PUT("space", site->space < GMT_SPACE_COUNT ? site->space : 0)
	PUT("category", row->category)
	PUT("owner", row->owner)
	PUT("module", row->module)
	PUT("operator", row->operator)
	PUT("part", row->part)
	PUT("peak_bytes", site->peak_bytes)
	PUT("peak_blocks", site->peak_blocks)
	PUT("live_bytes", site->live_at_end_bytes)
	PUT("live_blocks", site->live_at_end_blocks)
	PUT("left_bytes", site->live_at_exit_bytes)
	PUT("max_live_bytes", site->max_live_bytes)
	PUT("total_bytes", site->total_bytes)
	PUT("alloc_count", site->alloc_count)
	PUT("free_count", site->free_count)
#undef PUT
}

/* A step of one of the series. */
struct step {
	uint32_t series;
	uint32_t index;
};

static const struct gmt_step *step_of(const struct gmt_timeline *timeline, const struct step *at)
{
	return &timeline->series[at->series].steps.items[at->index];
}

/* Moves to the next step by time. Returns false after the last. */
static bool next_step(const struct gmt_timeline *timeline, uint32_t *next, struct step *ret_step)
{
	bool is_found = false;

	for (uint32_t i = 0; i < timeline->series_count; i++) {
		struct step candidate = { i, next[i] };

		if (next[i] < timeline->series[i].steps.count &&
			(!is_found ||
				step_of(timeline, &candidate)->begin < step_of(timeline, ret_step)->begin)) {
			*ret_step = candidate;
			is_found = true;
		}
	}
	if (is_found)
		next[ret_step->series]++;
	return is_found;
}

static bool put_steps(const struct gmt_page_view *view, struct gmt_packet *packet)
{
	const struct gmt_timeline *timeline = view->report->leaks->timeline;
	const struct gmt_recording *recording = view->report->recording;
	uint32_t next[GMT_TIMELINE_SERIES] = { 0 };
	GMT_VEC(struct step) steps = { 0 };
	size_t count = 0, number = 0;
	struct step step;

	for (size_t i = 0; i < timeline->series_count; i++)
		count += timeline->series[i].steps.count;
	uint64_t end_ns = view->report->replay->end_time_ns;

	while (next_step(timeline, next, &step)) {
		bool is_later = gmt_clock_time_ns(recording, step_of(timeline, &step)->begin) >= end_ns;
		/* Choose steps evenly: the last step of each of MAX_STEPS parts. */
		if (!is_later &&
			(count <= MAX_STEPS ||
				number * MAX_STEPS / count != (number + 1) * MAX_STEPS / count)) {
			struct step *slot = gmt_vec_push(&steps);

			if (!slot)
				break;
			*slot = step;
		}
		number++;
	}
#define PUT(name, value) \
	gmt_packet_column(packet, "step." name); \
	for (size_t i = 0; i < steps.count; i++) \
		gmt_packet_put(packet, value);
	PUT("series", steps.items[i].series)
	PUT("index", steps.items[i].index)
	PUT("begin_ns", gmt_clock_time_ns(recording, step_of(timeline, &steps.items[i])->begin))
	PUT("end_ns", gmt_clock_time_ns(recording, step_of(timeline, &steps.items[i])->end))
#undef PUT
	gmt_vec_fini(&steps);
	return number == count;
}

static void write_strings(const struct gmt_page_view *view, const struct strings *strings,
	struct gmt_json *json)
{
	gmt_json_key_array(json, "strings");
	gmt_json_text(json, "");
	for (size_t i = 0; i < strings->ids.count; i++)
		gmt_json_text(json, gmt_traces_string(view->report->traces, strings->ids.items[i]));
	gmt_json_end_array(json);
}

static void write_names(const char *key, const struct gmt_intern *names, struct gmt_json *json)
{
	gmt_json_key_array(json, key);
	for (size_t i = 0; i < names->entries.count; i++)
		gmt_json_text(json, gmt_intern_get(names, (uint32_t)i)->bytes);
	gmt_json_end_array(json);
}

static void write_lists(const struct gmt_page_view *view, struct gmt_json *json)
{
	gmt_json_key_array(json, "categories");
	for (unsigned i = 0; i < GMT_CATEGORIES; i++)
		gmt_json_text(json, gmt_category_name((enum gmt_category)i));
	gmt_json_end_array(json);
	gmt_json_key_array(json, "parts");
	for (unsigned i = 0; i < GMT_PARTS; i++)
		gmt_json_text(json, gmt_part_name((enum gmt_part)i));
	gmt_json_end_array(json);
	gmt_json_key_array(json, "layers");
	for (unsigned i = 0; i < GMT_ACCOUNTING_LAYERS; i++)
		gmt_json_text(json, i ? gmt_layer_name(i) : "");
	gmt_json_end_array(json);
	gmt_json_key_array(json, "spaces");
	for (unsigned i = 0; i < GMT_SPACE_COUNT; i++)
		gmt_json_text(json, i ? gmt_space_text(i).text : "");
	gmt_json_end_array(json);
	write_names("owners", &view->page->sites.owners, json);
	write_names("modules", &view->page->sites.modules, json);
	write_names("operators", &view->page->sites.operators, json);
}

static void write_series(const struct gmt_timeline *timeline, struct gmt_json *json)
{
	gmt_json_key_array(json, "series");
	for (size_t i = 0; i < timeline->series_count; i++) {
		gmt_json_begin_object(json);
		gmt_json_key_text(json, "source", gmt_step_source_name(timeline->series[i].source));
		gmt_json_key_text(json, "name", timeline->series[i].name);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

/* Writes how the recording was made, and what recording cost the program. */
static void write_recorder(const struct gmt_page_view *view, struct gmt_json *json)
{
	const struct gmt_recording *recording = view->report->recording;

	gmt_json_key(json, "recorder");
	gmt_json_begin_object(json);
	gmt_json_key_u64(json, "file_bytes", recording->file_bytes);
	gmt_info_recorder_json(recording, &view->overhead, json);
	gmt_json_end_object(json);
}

bool gmt_page_write_recording(const struct gmt_page_view *view, FILE *file)
{
	struct gmt_packet packet = { 0 };
	struct strings strings = { 0 };
	char id[32];

	put_places(view, &packet, &strings);
	put_sites(view, &packet);
	packet.has_failed |= !put_steps(view, &packet);
	gmt_packet_begin_header(&packet);
	if (packet.json.file) {
		gmt_json_key(&packet.json, "report");
		gmt_report_json(view->report, &packet.json);
		write_recorder(view, &packet.json);
		write_strings(view, &strings, &packet.json);
		write_lists(view, &packet.json);
		packet.has_failed |= !gmt_page_write_phases(view, &packet.json);
		write_series(view->report->leaks->timeline, &packet.json);
	}
	gmt_map_fini(&strings.numbers);
	gmt_vec_fini(&strings.ids);
	snprintf(id, sizeof(id), "recording-%u", view->number);
	return gmt_packet_write(&packet, file, id);
}
