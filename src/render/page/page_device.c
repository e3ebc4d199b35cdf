/* SPDX-License-Identifier: MIT */
/* The packet of a device: the history of its layers, its refusals, samples and largest blocks. */
#include "reader/load/clock.h"
#include "render/page/page_write.h"

static const struct gmt_account *account_of(const struct gmt_page_view *view, uint32_t id)
{
	return &view->report->replay->accounting.accounts.items[id];
}

static void put_buckets(struct gmt_packet *packet, const struct gmt_page_account *account,
	size_t number, bool is_torch)
{
#define PUT(name, value) \
	gmt_packet_column(packet, "%zu." name, number); \
	for (size_t i = 0; i < account->buckets.count; i++) { \
		const struct gmt_page_bucket *bucket = &account->buckets.items[i]; \
		gmt_packet_put(packet, value); \
	}
	PUT("begin_ns", bucket->begin_ns)
	PUT("begin_event", bucket->begin_event)
	PUT("max_bytes", bucket->max_bytes)
	PUT("max_ns", bucket->max_ns)
	PUT("min_bytes", bucket->min_bytes)
	PUT("end_bytes", bucket->end_bytes)
	if (is_torch) {
		PUT("reserved_bytes", bucket->reserved_bytes)
	}
	PUT("entries", bucket->entries)
#undef PUT
}

static void put_entries(struct gmt_packet *packet, const struct gmt_page_account *account,
	size_t number)
{
#define PUT_ALL(put) \
	for (size_t i = 0; i < account->entries.count; i++) { \
		const struct gmt_page_entry *entry = &account->entries.items[i]; \
		put; \
	}
#define PUT(name) \
	gmt_packet_column(packet, "%zu.entry." #name, number); \
	PUT_ALL(gmt_packet_put(packet, entry->name))
/* Most blocks that a bucket makes end in it, so the differences are small. */
#define PUT_LESS(name, of) \
	gmt_packet_column(packet, "%zu.entry." #name, number); \
	gmt_packet_subtracted_from(packet, "%zu.entry." #of, number); \
	PUT_ALL(gmt_packet_put_subtracted(packet, entry->of, entry->name))
	PUT(site)
	gmt_packet_column(packet, "%zu.entry.at_max", number);
	PUT_ALL(gmt_packet_put_signed(packet, entry->at_max))
	PUT(allocated)
	PUT(allocs)
	PUT_LESS(freed, allocated)
	PUT_LESS(frees, allocs)
#undef PUT
#undef PUT_LESS
#undef PUT_ALL
}

static size_t phase_count(const struct gmt_page *page)
{
	return page->phase_names.count ? 1 + page->phase_names.count + page->has_other_phases : 0;
}

static void put_phases(const struct gmt_page_view *view, struct gmt_packet *packet,
	const struct gmt_page_account *account, size_t number)
{
	size_t names = phase_count(view->page);

	if (!names)
		return;
	gmt_packet_column(packet, "%zu.phase.at_max", number);
	for (size_t i = 0; i < account->buckets.count; i++)
		for (size_t k = 0; k < names; k++)
			gmt_packet_put(packet, account->phases_at_max.items[i * GMT_PAGE_PHASES + k]);
}

static void put_fine(const struct gmt_page_view *view, struct gmt_packet *packet,
	const struct gmt_page_account *account, size_t number)
{
	gmt_packet_column(packet, "%zu.fine.begin_ns", number);
	for (size_t i = 0; i < account->fine.count; i++)
		gmt_packet_put(packet,
			i ? gmt_clock_time_ns(view->report->recording, account->fine.items[i].begin_stamp) : 0);
	gmt_packet_column(packet, "%zu.fine.max_bytes", number);
	for (size_t i = 0; i < account->fine.count; i++)
		gmt_packet_put(packet, account->fine.items[i].max_bytes);
}

/* Returns the number of a layer in the packet. */
static size_t layer_number(const struct gmt_page_view *view, const struct gmt_page_device *device,
	uint32_t layer)
{
	size_t number = 0;

	while (number < device->accounts.count &&
		account_of(view, device->accounts.items[number])->layer != layer)
		number++;
	return number < device->accounts.count ? number : 0;
}

static void put_blocks(const struct gmt_page_view *view, struct gmt_packet *packet,
	const struct gmt_page_device *device)
{
	const struct gmt_recording *recording = view->report->recording;
	const struct gmt_accounting *accounting = &view->report->replay->accounting;

#define PUT(name, value) \
	gmt_packet_column(packet, "block." name); \
	for (size_t i = 0; i < device->blocks.kept.count; i++) { \
		const struct gmt_page_block *block = &device->blocks.kept.items[i]; \
		gmt_packet_put_signed(packet, (int64_t)(value)); \
	}
	PUT("begin_ns", gmt_clock_time_ns(recording, block->begin_stamp))
	PUT("end_ns",
		block->end_stamp == UINT64_MAX ? UINT64_MAX
									   : gmt_clock_time_ns(recording, block->end_stamp))
	PUT("address", block->address >> 8)
	PUT("bytes", block->size_bytes)
	PUT("site", view->page->sites.numbers.items[block->site])
	PUT("layer",
		layer_number(view, device,
			accounting->accounts.items[accounting->sites.items[block->site].account].layer))
#undef PUT
}

static void put_samples(struct gmt_packet *packet, const struct gmt_page_device *device)
{
#define PUT(name, value) \
	gmt_packet_column(packet, "sample." name); \
	for (size_t i = 0; i < device->samples.count; i++) \
		gmt_packet_put(packet, device->samples.items[i].value);
	PUT("ns", time_ns)
	PUT("used_bytes", used_bytes)
	PUT("total_bytes", total_bytes)
#undef PUT
}

static void write_phase_names(const struct gmt_page_view *view, struct gmt_json *json)
{
	const struct gmt_page *page = view->page;

	gmt_json_key_array(json, "phase_names");
	if (page->phase_names.count)
		gmt_json_text(json, "");
	for (size_t i = 0; i < page->phase_names.count; i++)
		gmt_json_text(json,
			gmt_intern_get(&page->attribution->origin.phase_names, page->phase_names.items[i])
				->bytes);
	if (page->has_other_phases)
		gmt_json_text(json, "other phases");
	gmt_json_end_array(json);
}

static void write_layers(const struct gmt_page_view *view, const struct gmt_page_device *device,
	struct gmt_json *json)
{
	gmt_json_key_array(json, "layers");
	for (size_t i = 0; i < device->accounts.count; i++) {
		const struct gmt_account *from = account_of(view, device->accounts.items[i]);
		const struct gmt_page_account *account =
			gmt_page_account_of(view->page, device->accounts.items[i]);

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "layer", gmt_layer_name(from->layer));
		gmt_json_key_u64(json, "peak_bytes", account->peak_bytes);
		gmt_json_key_u64(json, "peak_ns", account->peak_ns);
		gmt_json_key_u64(json, "buckets", account->buckets.count);
		gmt_json_key_u64(json, "fine", account->fine.count);
		write_phase_names(view, json);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void write_refusals(const struct gmt_page_device *device, struct gmt_json *json)
{
	gmt_json_key_array(json, "refusals");
	for (size_t i = 0; i < device->refusals.count; i++) {
		const struct gmt_page_refusal *refusal = &device->refusals.items[i];

		gmt_json_begin_object(json);
		gmt_json_key_u64(json, "time_ns", refusal->time_ns);
		gmt_json_key_u64(json, "bytes", refusal->size_bytes);
		gmt_json_key_u64(json, "site", refusal->site);
		gmt_json_key_text(json, "layer", gmt_layer_name(refusal->layer));
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
}

static void write_blocks(const struct gmt_page_view *view, const struct gmt_page_device *device,
	struct gmt_json *json)
{
	gmt_json_key_object(json, "blocks");
	gmt_json_key_u64(json, "kept", device->blocks.kept.count);
	gmt_json_key_u64(json, "total", device->blocks.total);
	gmt_json_key_double(json, "kept_bytes_ns",
		device->blocks.kept_weight * view->page->ns_per_tick);
	gmt_json_key_double(json, "total_bytes_ns",
		device->blocks.total_weight * view->page->ns_per_tick);
	gmt_json_end_object(json);
}

bool gmt_page_write_device(const struct gmt_page_view *view, const struct gmt_page_device *device,
	FILE *file)
{
	struct gmt_packet packet = { 0 };
	char id[48];

	for (size_t i = 0; i < device->accounts.count; i++) {
		const struct gmt_page_account *account =
			gmt_page_account_of(view->page, device->accounts.items[i]);

		put_buckets(&packet, account, i,
			account_of(view, device->accounts.items[i])->layer == GMT_LAYER_TORCH);
		put_entries(&packet, account, i);
		put_phases(view, &packet, account, i);
		put_fine(view, &packet, account, i);
	}
	put_samples(&packet, device);
	put_blocks(view, &packet, device);
	gmt_packet_begin_header(&packet);
	if (packet.json.file) {
		gmt_json_key_i64(&packet.json, "device", device->device);
		write_layers(view, device, &packet.json);
		write_blocks(view, device, &packet.json);
		write_refusals(device, &packet.json);
	}
	snprintf(id, sizeof(id), "device-%u-%d", view->number, device->device);
	return gmt_packet_write(&packet, file, id);
}
