/* SPDX-License-Identifier: MIT */
/* The state at the end of a snapshot: segments, and the blocks and gaps that fill them. */
#include <stdlib.h>

#include "render/export/torch/torch_writer.h"

enum { SMALL_SEGMENT_BYTES = 2 << 20 };

/* A live block. */
struct block {
	uint64_t address, size_bytes;
	uint32_t stack;
	int16_t device;
};

struct state {
	GMT_VEC(struct block) blocks; /* by device and address */
	GMT_VEC(struct gmt_torch_segment) segments; /* by device and address */
};

static int compare_places(int16_t left_device, uint64_t left, int16_t right_device, uint64_t right)
{
	if (left_device != right_device)
		return left_device < right_device ? -1 : 1;
	return (left > right) - (left < right);
}

static int compare_blocks(const void *left, const void *right)
{
	const struct block *a = left, *b = right;

	return compare_places(a->device, a->address, b->device, b->address);
}

static int compare_segments(const void *left, const void *right)
{
	const struct gmt_torch_segment *a = left, *b = right;

	return compare_places(a->device, a->address, b->device, b->address);
}

static bool collect_blocks(struct state *state, const struct gmt_torch_writer *writer,
	const struct gmt_replay *replay)
{
	const struct gmt_accounting *accounting = &replay->accounting;
	struct gmt_addressed_block found;
	size_t cursor = 0;

	while (gmt_accounting_next_block(accounting, writer->export->choice.layer, &cursor, &found)) {
		const struct gmt_account_site *site = &accounting->sites.items[found.block.site];
		struct block *block;

		if (!found.block.size_bytes)
			continue;
		if (!(block = gmt_vec_push(&state->blocks)))
			return false;
		*block = (struct block){
			.address =
				gmt_torch_address(found.address, accounting->spaces.items[site->space].space),
			.size_bytes = found.block.size_bytes,
			.stack = replay->site_stacks.items[found.block.site],
			.device = accounting->accounts.items[site->account].device,
		};
	}
	if (state->blocks.count)
		qsort(state->blocks.items, state->blocks.count, sizeof(*state->blocks.items),
			compare_blocks);
	return true;
}

/* Lists the segments. Adjacent pages are one segment, as in PyTorch. */
static bool collect_segments(struct state *state, const struct gmt_torch_writer *writer,
	const struct gmt_torch_events *events)
{
	size_t kept = 0;

	for (size_t i = 0; i < events->segments.count; i++) {
		const struct gmt_torch_segment *segment = &events->segments.items[i];
		struct gmt_torch_segment *slot;

		if (!segment->size_bytes ||
			!gmt_profile_includes(&writer->export->choice, writer->export->choice.layer,
				segment->device))
			continue;
		if (!(slot = gmt_vec_push(&state->segments)))
			return false;
		*slot = *segment;
	}
	if (state->segments.count)
		qsort(state->segments.items, state->segments.count, sizeof(*state->segments.items),
			compare_segments);
	for (size_t i = 0; i < state->segments.count; i++) {
		struct gmt_torch_segment *last = kept ? &state->segments.items[kept - 1] : NULL;
		const struct gmt_torch_segment *next = &state->segments.items[i];

		if (last && last->is_page && next->is_page && last->device == next->device &&
			last->address + last->size_bytes == next->address)
			last->size_bytes += next->size_bytes;
		else
			state->segments.items[kept++] = *next;
	}
	state->segments.count = kept;
	return true;
}

static void write_block(struct gmt_torch_writer *writer, struct gmt_pickle_list *list,
	uint64_t address, uint64_t size_bytes, const struct block *block)
{
	gmt_pickle_item(&writer->pickle, list);
	gmt_pickle_begin_dict(&writer->pickle);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_address, address);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_size, size_bytes);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_requested_size, block ? size_bytes : 0);
	gmt_torch_key_text(writer, GMT_TORCH_TEXT_state,
		block ? GMT_TORCH_TEXT_active_allocated : GMT_TORCH_TEXT_inactive);
	gmt_torch_key_frames(writer, block ? block->stack : GMT_TORCH_NO_STACK);
	gmt_pickle_end_dict(&writer->pickle);
}

/* Returns the bytes of the segment's blocks. *at is the first block that does not lie before it. */
static uint64_t blocks_of(const struct state *state, const struct gmt_torch_segment *segment,
	size_t *at, size_t *ret_end)
{
	uint64_t bytes = 0, end = segment->address + segment->size_bytes;
	size_t i = *at;

	while (i < state->blocks.count &&
		compare_places(state->blocks.items[i].device, state->blocks.items[i].address,
			segment->device, segment->address) < 0)
		i++;
	for (*at = i; i < state->blocks.count && state->blocks.items[i].device == segment->device &&
		state->blocks.items[i].address < end &&
		state->blocks.items[i].size_bytes <= end - state->blocks.items[i].address;
		i++)
		bytes += state->blocks.items[i].size_bytes;
	*ret_end = i;
	return bytes;
}

/* Writes blocks and gaps, which fill the whole segment. */
static void write_blocks(struct gmt_torch_writer *writer, const struct state *state,
	const struct gmt_torch_segment *segment, size_t first, size_t end)
{
	struct gmt_pickle_list list;
	uint64_t at = segment->address;

	gmt_torch_key(writer, GMT_TORCH_TEXT_blocks);
	list = gmt_pickle_begin_list(&writer->pickle);
	for (size_t i = first; i < end; i++) {
		const struct block *block = &state->blocks.items[i];

		/* Blocks overlap only in damaged recordings. */
		if (block->address < at)
			continue;
		if (block->address > at)
			write_block(writer, &list, at, block->address - at, NULL);
		write_block(writer, &list, block->address, block->size_bytes, block);
		at = block->address + block->size_bytes;
	}
	if (at < segment->address + segment->size_bytes)
		write_block(writer, &list, at, segment->address + segment->size_bytes - at, NULL);
	gmt_pickle_end_list(&writer->pickle, &list);
}

static void write_segment(struct gmt_torch_writer *writer, const struct state *state,
	const struct gmt_torch_segment *segment, size_t *at)
{
	size_t end;
	uint64_t bytes = blocks_of(state, segment, at, &end);

	gmt_pickle_begin_dict(&writer->pickle);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_device, (uint64_t)segment->device);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_address, segment->address);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_total_size, segment->size_bytes);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_allocated_size, bytes);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_active_size, bytes);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_requested_size, bytes);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_stream, 0);
	gmt_torch_key_text(writer, GMT_TORCH_TEXT_segment_type,
		segment->size_bytes > SMALL_SEGMENT_BYTES ? GMT_TORCH_TEXT_large : GMT_TORCH_TEXT_small);
	gmt_torch_key(writer, GMT_TORCH_TEXT_segment_pool_id);
	gmt_pickle_pair(&writer->pickle, 0, 0);
	gmt_torch_key(writer, GMT_TORCH_TEXT_is_expandable);
	gmt_pickle_bool(&writer->pickle, segment->is_page);
	gmt_torch_key_frames(writer, segment->stack);
	write_blocks(writer, state, segment, *at, end);
	gmt_pickle_end_dict(&writer->pickle);
}

enum gmt_status gmt_torch_write_segments(struct gmt_torch_writer *writer,
	const struct gmt_torch_events *events, struct gmt_error *error)
{
	struct state state = { 0 };
	bool done =
		collect_blocks(&state, writer, &events->replay) && collect_segments(&state, writer, events);
	size_t at = 0;

	if (done) {
		struct gmt_pickle_list list;

		gmt_pickle_text(&writer->pickle, "segments");
		list = gmt_pickle_begin_list(&writer->pickle);
		for (size_t i = 0; i < state.segments.count; i++) {
			gmt_pickle_item(&writer->pickle, &list);
			write_segment(writer, &state, &state.segments.items[i], &at);
		}
		gmt_pickle_end_list(&writer->pickle, &list);
	}
	gmt_vec_fini(&state.blocks);
	gmt_vec_fini(&state.segments);
	return done ? GMT_OK : gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}
