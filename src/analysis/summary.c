/* SPDX-License-Identifier: MIT */
#include "analysis/summary.h"

#include <stdlib.h>

#include "model/clock.h"

struct summarizer {
	struct gmt_summary *summary;
	const struct gmt_snapshot *snapshot;
	const struct gmt_books *books;
};

static struct gmt_summary_device *get_device(struct summarizer *summarizer, int32_t ordinal)
{
	struct gmt_summary *summary = summarizer->summary;

	for (size_t i = 0; i < summary->devices.count; i++)
		if (summary->devices.items[i].device == ordinal)
			return &summary->devices.items[i];

	struct gmt_summary_device *device = gmt_vec_push(&summary->devices);
	if (device)
		*device = (struct gmt_summary_device){
			.device = ordinal,
			.info = ordinal < 0 ? NULL :
				gmt_snapshot_device(summarizer->snapshot, (uint32_t)ordinal),
		};
	return device;
}

static int by_space(const void *left, const void *right)
{
	const struct gmt_summary_space *a = left, *b = right;

	return (a->space > b->space) - (a->space < b->space);
}

static bool fill_layer(struct summarizer *summarizer, struct gmt_summary_layer *layer, uint32_t number,
	int16_t device)
{
	const struct gmt_books *books = summarizer->books;
	const struct gmt_books_account *account = gmt_books_find_account(books, (uint8_t)number, device);

	*layer = (struct gmt_summary_layer){ .layer = number };
	if (!account)
		return true;
	layer->account = *account;
	layer->peak_time_ns = account->epoch ?
		gmt_clock_time_ns(summarizer->snapshot, account->peak_stamp) : 0;
	for (size_t i = 0; i < books->spaces.count; i++) {
		const struct gmt_books_space *space = &books->spaces.items[i];

		if (space->account != (size_t)(account - books->accounts.items))
			continue;

		struct gmt_summary_space *row = gmt_vec_push(&layer->spaces);
		if (!row)
			return false;
		*row = (struct gmt_summary_space){
			.space = space->space,
			.live_bytes = space->live_bytes,
			.live_blocks = space->live_blocks,
			.peak_bytes = space->peak_bytes,
			.peak_time_ns = space->peak_bytes ?
				gmt_clock_time_ns(summarizer->snapshot, space->peak_stamp) : 0,
		};
	}
	if (layer->spaces.count)
		qsort(layer->spaces.items, layer->spaces.count, sizeof(*layer->spaces.items), by_space);
	return true;
}

static bool fill_device(struct summarizer *summarizer, struct gmt_summary_device *device)
{
	for (uint32_t number = 1; number < GMT_BOOKS_LAYERS; number++) {
		if (number != GMT_LAYER_CUDA &&
			!gmt_books_find_account(summarizer->books, (uint8_t)number, (int16_t)device->device))
			continue;

		struct gmt_summary_layer *layer = gmt_vec_push(&device->layers);
		if (!layer || !fill_layer(summarizer, layer, number, (int16_t)device->device))
			return false;
	}
	return true;
}

static int by_ordinal(const void *left, const void *right)
{
	const struct gmt_summary_device *a = left, *b = right;

	return (a->device > b->device) - (a->device < b->device);
}

static bool list_devices(struct summarizer *summarizer)
{
	const struct gmt_snapshot *snapshot = summarizer->snapshot;
	const struct gmt_books *books = summarizer->books;

	for (size_t i = 0; i < snapshot->devices.count; i++)
		if (snapshot->devices.items[i].ordinal <= INT16_MAX &&
			!get_device(summarizer, (int32_t)snapshot->devices.items[i].ordinal))
			return false;
	for (size_t i = 0; i < books->accounts.count; i++)
		if (books->accounts.items[i].device != GMT_DEVICE_HOST &&
			!get_device(summarizer, books->accounts.items[i].device))
			return false;
	return true;
}

enum gmt_status gmt_summary_init(struct gmt_summary *ret_summary, const struct gmt_snapshot *snapshot,
	const struct gmt_replay *replay, struct gmt_error *error)
{
	struct summarizer summarizer = {
		.summary = ret_summary, .snapshot = snapshot, .books = &replay->books,
	};
	bool done = list_devices(&summarizer) &&
		fill_layer(&summarizer, &ret_summary->host, GMT_LAYER_CUDA, GMT_DEVICE_HOST);

	if (ret_summary->devices.count)
		qsort(ret_summary->devices.items, ret_summary->devices.count,
			sizeof(*ret_summary->devices.items), by_ordinal);
	for (size_t i = 0; done && i < ret_summary->devices.count; i++)
		done = fill_device(&summarizer, &ret_summary->devices.items[i]);
	if (done)
		return GMT_OK;
	gmt_summary_fini(ret_summary);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

void gmt_summary_fini(struct gmt_summary *summary)
{
	for (size_t i = 0; i < summary->devices.count; i++) {
		struct gmt_summary_device *device = &summary->devices.items[i];

		for (size_t j = 0; j < device->layers.count; j++)
			gmt_vec_fini(&device->layers.items[j].spaces);
		gmt_vec_fini(&device->layers);
	}
	gmt_vec_fini(&summary->devices);
	gmt_vec_fini(&summary->host.spaces);
}
