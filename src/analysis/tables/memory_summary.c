/* SPDX-License-Identifier: MIT */
#include "analysis/tables/memory_summary.h"

#include <stdlib.h>

#include "reader/load/clock.h"

struct summarizer {
	struct gmt_memory_summary *summary;
	const struct gmt_recording *recording;
	const struct gmt_accounting *accounting;
	const struct gmt_replay *replay;
	struct gmt_map device_ids; /* ordinal, as uint16_t, to index in summary->devices */
};

static bool add_device(struct summarizer *summarizer, int16_t ordinal)
{
	struct gmt_memory_summary *summary = summarizer->summary;
	uint64_t index;

	if (gmt_map_find(&summarizer->device_ids, (uint16_t)ordinal, &index))
		return true;

	struct gmt_memory_summary_device *device = gmt_vec_push(&summary->devices);
	if (!device)
		return false;
	*device = (struct gmt_memory_summary_device){
		.device = ordinal,
		.info = ordinal < 0 ? NULL : gmt_recording_device(summarizer->recording, (uint32_t)ordinal),
	};
	return gmt_map_put(&summarizer->device_ids, (uint16_t)ordinal, 0);
}

static int by_ordinal(const void *left, const void *right)
{
	const struct gmt_memory_summary_device *a = left, *b = right;

	return (a->device > b->device) - (a->device < b->device);
}

/* Lists the devices that were recorded and the devices that had events, sorted. */
static bool list_devices(struct summarizer *summarizer)
{
	const struct gmt_recording *recording = summarizer->recording;
	const struct gmt_accounting *accounting = summarizer->accounting;
	struct gmt_memory_summary *summary = summarizer->summary;

	for (size_t i = 0; i < recording->devices.count; i++)
		if (recording->devices.items[i].ordinal <= INT16_MAX &&
			!add_device(summarizer, (int16_t)recording->devices.items[i].ordinal))
			return false;
	for (size_t i = 0; i < accounting->accounts.count; i++)
		if (accounting->accounts.items[i].device != GMT_DEVICE_HOST &&
			!add_device(summarizer, accounting->accounts.items[i].device))
			return false;
	if (summary->devices.count)
		qsort(summary->devices.items, summary->devices.count, sizeof(*summary->devices.items),
			by_ordinal);
	for (size_t i = 0; i < summary->devices.count; i++)
		if (!gmt_map_put(&summarizer->device_ids, (uint16_t)summary->devices.items[i].device, i))
			return false;
	return true;
}

/*
 * Sets the live values, and the totals that PyTorch reported, to those at the end of the program's
 * work.
 */
static void set_end(struct gmt_account *account, const struct gmt_replay *replay, size_t index)
{
	struct gmt_account end = gmt_replay_end_account(replay, index);

	account->live_bytes = end.live_bytes;
	account->live_blocks = end.live_blocks;
	account->reported_allocated_bytes = end.reported_allocated_bytes;
	account->reported_reserved_bytes = end.reported_reserved_bytes;
	account->unseen_bytes = end.unseen_bytes;
}

static void fill_layer(const struct summarizer *summarizer, struct gmt_memory_summary_layer *layer,
	uint32_t number, int16_t device)
{
	const struct gmt_account *account =
		gmt_accounting_find_account(summarizer->accounting, (uint8_t)number, device);

	*layer = (struct gmt_memory_summary_layer){ .layer = number };
	if (!account)
		return;
	layer->account = *account;
	layer->live_at_exit_bytes = account->live_bytes;
	layer->live_at_exit_blocks = account->live_blocks;
	set_end(&layer->account, summarizer->replay,
		(size_t)(account - summarizer->accounting->accounts.items));
	layer->peak_time_ns =
		account->peak_number ? gmt_clock_time_ns(summarizer->recording, account->peak_stamp) : 0;
}

static bool fill_device(const struct summarizer *summarizer,
	struct gmt_memory_summary_device *device)
{
	for (uint32_t number = 1; number < GMT_ACCOUNTING_LAYERS; number++) {
		if (number != GMT_LAYER_CUDA &&
			!gmt_accounting_find_account(summarizer->accounting, (uint8_t)number,
				(int16_t)device->device))
			continue;

		struct gmt_memory_summary_layer *layer = gmt_vec_push(&device->layers);
		if (!layer)
			return false;
		fill_layer(summarizer, layer, number, (int16_t)device->device);
	}
	return true;
}

/* Returns the layer that shows an account. NULL: it is not shown (host memory of another layer). */
static struct gmt_memory_summary_layer *layer_of(const struct summarizer *summarizer,
	const struct gmt_account *account)
{
	struct gmt_memory_summary *summary = summarizer->summary;
	uint64_t index;

	if (account->device == GMT_DEVICE_HOST)
		return account->layer == GMT_LAYER_CUDA ? &summary->host : NULL;
	if (!gmt_map_find(&summarizer->device_ids, (uint16_t)account->device, &index))
		return NULL;
	for (size_t i = 0; i < summary->devices.items[index].layers.count; i++)
		if (summary->devices.items[index].layers.items[i].layer == account->layer)
			return &summary->devices.items[index].layers.items[i];
	return NULL;
}

static int by_space(const void *left, const void *right)
{
	const struct gmt_memory_summary_space *a = left, *b = right;

	return (a->space > b->space) - (a->space < b->space);
}

static bool fill_spaces(const struct summarizer *summarizer)
{
	const struct gmt_accounting *accounting = summarizer->accounting;

	for (size_t i = 0; i < accounting->spaces.count; i++) {
		const struct gmt_account_space *space = &accounting->spaces.items[i];
		struct gmt_memory_summary_layer *layer =
			layer_of(summarizer, &accounting->accounts.items[space->account]);
		struct gmt_memory_summary_space *row = layer ? gmt_vec_push(&layer->spaces) : NULL;
		struct gmt_replay_live end = gmt_replay_end_space(summarizer->replay, i);

		if (!layer)
			continue;
		if (!row)
			return false;
		*row = (struct gmt_memory_summary_space){
			.space = space->space,
			.live_bytes = end.bytes,
			.live_blocks = end.blocks,
			.peak_bytes = space->peak_bytes,
			.peak_time_ns =
				space->peak_bytes ? gmt_clock_time_ns(summarizer->recording, space->peak_stamp) : 0,
		};
		qsort(layer->spaces.items, layer->spaces.count, sizeof(*layer->spaces.items), by_space);
	}
	return true;
}

enum gmt_status gmt_memory_summary_compute(struct gmt_memory_summary *ret_summary,
	const struct gmt_recording *recording, const struct gmt_replay *replay, struct gmt_error *error)
{
	struct summarizer summarizer = {
		.summary = ret_summary,
		.recording = recording,
		.accounting = &replay->accounting,
		.replay = replay,
	};
	bool done = list_devices(&summarizer);

	fill_layer(&summarizer, &ret_summary->host, GMT_LAYER_CUDA, GMT_DEVICE_HOST);
	for (size_t i = 0; done && i < ret_summary->devices.count; i++)
		done = fill_device(&summarizer, &ret_summary->devices.items[i]);
	done = done && fill_spaces(&summarizer);
	gmt_map_fini(&summarizer.device_ids);
	if (done)
		return GMT_OK;
	gmt_memory_summary_fini(ret_summary);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

void gmt_memory_summary_fini(struct gmt_memory_summary *summary)
{
	for (size_t i = 0; i < summary->devices.count; i++) {
		struct gmt_memory_summary_device *device = &summary->devices.items[i];

		for (size_t j = 0; j < device->layers.count; j++)
			gmt_vec_fini(&device->layers.items[j].spaces);
		gmt_vec_fini(&device->layers);
	}
	gmt_vec_fini(&summary->devices);
	gmt_vec_fini(&summary->host.spaces);
}
