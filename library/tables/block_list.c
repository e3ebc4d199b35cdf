/* SPDX-License-Identifier: MIT */
#include "library/tables/block_list.h"

#include <stdlib.h>

/* A live block, for sorting. */
struct live {
	uint64_t address;
	struct gmt_account_block block;
};

static const struct gmt_account *account_of(const struct gmt_replay *replay, uint32_t site)
{
	return &replay->accounting.accounts.items[replay->accounting.sites.items[site].account];
}

static uint8_t space_of(const struct gmt_replay *replay, uint32_t site)
{
	const struct gmt_accounting *accounting = &replay->accounting;

	return (uint8_t)accounting->spaces.items[accounting->sites.items[site].space].space;
}

/* Packs a block. The layout of the event is known only here and in gmt_listed_block. */
static bool pack_block(struct gmt_events *blocks, const struct gmt_listed_block *block)
{
	return gmt_events_push(blocks,
		&(struct gmt_recording_event){
			.stamp = block->end_stamp,
			.address = block->address,
			.size_bytes = block->size_bytes,
			.more = { block->begin_stamp, block->free_trace_plus_1 },
			.trace = block->site,
			.device = block->device,
			.kind = GMT_KIND_ALLOC,
			.layer = block->layer,
			.space = block->space,
		});
}

struct gmt_listed_block gmt_listed_block(struct gmt_events_reader *reader, size_t index)
{
	const struct gmt_recording_event *packed = gmt_events_at(reader, index);

	return (struct gmt_listed_block){
		.address = packed->address,
		.size_bytes = packed->size_bytes,
		.begin_stamp = packed->more[0],
		.end_stamp = packed->stamp,
		.free_trace_plus_1 = packed->more[1],
		.site = packed->trace,
		.device = packed->device,
		.layer = packed->layer,
		.space = packed->space,
	};
}

/* Packs a change. The layout of the event is known only here and in gmt_listed_change. */
static bool pack_change(struct gmt_events *changes, const struct gmt_listed_change *change)
{
	return gmt_events_push(changes,
		&(struct gmt_recording_event){
			.stamp = change->stamp,
			.address = change->live_bytes,
			.size_bytes = change->live_blocks,
			.trace = change->account,
			.device = change->device,
			.kind = GMT_KIND_ALLOC,
			.layer = change->layer,
			.space = GMT_SPACE_DEVICE,
		});
}

struct gmt_listed_change gmt_listed_change(struct gmt_events_reader *reader, size_t index)
{
	const struct gmt_recording_event *packed = gmt_events_at(reader, index);

	return (struct gmt_listed_change){
		.stamp = packed->stamp,
		.live_bytes = packed->address,
		.live_blocks = packed->size_bytes,
		.account = packed->trace,
		.device = packed->device,
		.layer = packed->layer,
	};
}

static bool push_change(struct gmt_block_list *list, const struct gmt_replay *replay,
	uint64_t stamp, uint32_t account_id)
{
	const struct gmt_account *account = &replay->accounting.accounts.items[account_id];
	struct gmt_listed_change change = {
		.stamp = stamp,
		.live_bytes = account->live_bytes,
		.live_blocks = account->live_blocks,
		.account = account_id,
		.device = account->device,
		.layer = account->layer,
	};

	/* The totals of a compacted prefix are known only at its end. */
	return list->is_in_compacted_prefix || pack_change(&list->changes, &change);
}

/* `event` ended the block; NULL: it lives. */
static bool push_block(struct gmt_block_list *list, const struct gmt_replay *replay,
	const struct gmt_account_block *block, uint64_t address,
	const struct gmt_recording_event *event)
{
	const struct gmt_account *account = account_of(replay, block->site);
	/*
	 * A new allocation at the address ends the block, but its stack did not free it: the free was
	 * not recorded.
	 */
	bool is_freed = event && event->kind != GMT_KIND_ALLOC;
	struct gmt_listed_block row = {
		.address = address,
		.size_bytes = block->size_bytes,
		.begin_stamp = block->stamp,
		.end_stamp = event ? event->stamp : UINT64_MAX,
		.free_trace_plus_1 = is_freed ? (uint64_t)event->trace + 1 : 0,
		.site = block->site,
		.device = account->device,
		.layer = account->layer,
		.space = space_of(replay, block->site),
	};
	uint64_t real;

	if (account->layer == GMT_LAYER_CUSTOM && gmt_map_remove(&list->heap_addresses, address, &real))
		row.address = real;
	return pack_block(&list->blocks, &row);
}

static bool on_before(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, size_t index)
{
	struct gmt_block_list *list = user;

	(void)replay;
	(void)index;
	list->event_address = event->address;
	return true;
}

static bool on_began(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, uint32_t site)
{
	struct gmt_block_list *list = user;

	/* In a heap, event->address is the number of the block. */
	if (event->layer == GMT_LAYER_CUSTOM &&
		!gmt_map_put(&list->heap_addresses, event->address, list->event_address))
		return false;
	return push_change(list, replay, event->stamp, replay->accounting.sites.items[site].account);
}

static bool on_ended(void *user, const struct gmt_replay *replay,
	const struct gmt_recording_event *event, const struct gmt_account_block *block)
{
	struct gmt_block_list *list = user;

	return push_block(list, replay, block, event->address, event) &&
		push_change(list, replay, event->stamp,
			replay->accounting.sites.items[block->site].account);
}

static bool on_compacted(void *user, const struct gmt_replay *replay)
{
	struct gmt_block_list *list = user;

	list->is_in_compacted_prefix = false;
	for (uint32_t i = 0; i < replay->accounting.accounts.count; i++)
		if (!push_change(list, replay, list->loaded->compacted.cut_stamp, i))
			return false;
	return true;
}

static int by_sequence(const void *left, const void *right)
{
	uint64_t a = ((const struct live *)left)->block.sequence,
			 b = ((const struct live *)right)->block.sequence;

	return (a > b) - (a < b);
}

static bool list_live(const struct gmt_accounting *accounting, uint8_t layer, struct live *live,
	size_t *count, size_t max)
{
	struct gmt_addressed_block found;
	size_t cursor = 0;

	while (gmt_accounting_next_block(accounting, layer, &cursor, &found)) {
		if (*count == max)
			return false;
		live[(*count)++] = (struct live){ found.address, found.block };
	}
	return true;
}

static bool on_finished(void *user, const struct gmt_replay *replay)
{
	static const uint8_t layers[] = { GMT_ACCOUNTING_ALL_OF_CUDA, GMT_LAYER_TORCH,
		GMT_LAYER_CUSTOM };
	struct gmt_block_list *list = user;
	size_t max = gmt_accounting_block_count(&replay->accounting), count = 0;
	struct live *live = malloc((max + 1) * sizeof(*live));
	bool done = live;

	for (size_t i = 0; done && i < sizeof(layers); i++)
		done = list_live(&replay->accounting, layers[i], live, &count, max);
	if (done)
		qsort(live, count, sizeof(*live), by_sequence);
	for (size_t i = 0; done && i < count; i++)
		done = push_block(list, replay, &live[i].block, live[i].address, NULL);
	list->live_blocks = count;
	free(live);
	return done;
}

void gmt_block_list_init(struct gmt_block_list *ret_list, const struct gmt_recording *loaded)
{
	ret_list->loaded = loaded;
	ret_list->blocks.shapes = ret_list->changes.shapes = &ret_list->shapes;
	ret_list->is_in_compacted_prefix = loaded->compacted.exists;
	ret_list->observer = (struct gmt_replay_observer){
		.before = on_before,
		.next_needed_stamp = &gmt_replay_quiet,
		.before_kinds = GMT_REPLAY_KIND(ALLOC) | GMT_REPLAY_KIND(RESIZE),
		.began = on_began,
		.ended = on_ended,
		.compacted = on_compacted,
		.finished = on_finished,
		.user = ret_list,
	};
}

void gmt_block_list_fini(struct gmt_block_list *list)
{
	gmt_events_fini(&list->blocks);
	gmt_events_fini(&list->changes);
	gmt_event_shapes_fini(&list->shapes);
	gmt_map_fini(&list->heap_addresses);
}
