/* SPDX-License-Identifier: MIT */
#include "reader/steps/allocation_sequence.h"

#include "base/pages.h"

bool gmt_allocation_sequence_includes(const struct gmt_recording *recording,
	const struct gmt_recording_event *event, uint64_t work_end)
{
	if (event->stamp > work_end)
		return false;
	return recording->has_torch || recording->has_pool
		? event->layer == GMT_LAYER_TORCH || event->space == GMT_SPACE_POOL
		: gmt_layer_can_leak(event->layer);
}

static bool is_allocation(const struct gmt_allocation_sequence *allocations,
	const struct gmt_recording_event *event)
{
	return event->kind == GMT_KIND_ALLOC &&
		gmt_allocation_sequence_includes(allocations->recording, event, allocations->work_end);
}

static uint32_t origin_of(const struct gmt_allocation_sequence *allocations,
	const struct gmt_recording_event *event)
{
	return allocations->by_stack ? allocations->traces->stack_of_trace[event->trace] : event->trace;
}

static bool add(struct gmt_allocation_sequence *allocations,
	const struct gmt_recording_event *event, size_t event_index)
{
	size_t index = allocations->count++;
	uint64_t *origin = allocations->last.count < GMT_ALLOCATION_SEQUENCE_LAST
		? gmt_vec_push(&allocations->last)
		: &allocations->last.items[index % GMT_ALLOCATION_SEQUENCE_LAST];

	if (!origin)
		return false;
	*origin = origin_of(allocations, event);
	if (index % GMT_ALLOCATION_SEQUENCE_BLOCK)
		return true;

	size_t *begin = gmt_vec_push(&allocations->begins);
	if (begin)
		*begin = event_index;
	return begin;
}

static void reverse(uint64_t *items, size_t begin, size_t end)
{
	for (; begin + 1 < end; begin++, end--) {
		uint64_t swapped = items[begin];

		items[begin] = items[end - 1];
		items[end - 1] = swapped;
	}
}

/* Turns the ring of the last origins so that the oldest origin comes first. */
static void turn_last(struct gmt_allocation_sequence *allocations)
{
	size_t oldest = allocations->count % GMT_ALLOCATION_SEQUENCE_LAST;

	if (allocations->count <= GMT_ALLOCATION_SEQUENCE_LAST)
		return;
	reverse(allocations->last.items, 0, oldest);
	reverse(allocations->last.items, oldest, GMT_ALLOCATION_SEQUENCE_LAST);
	reverse(allocations->last.items, 0, GMT_ALLOCATION_SEQUENCE_LAST);
}

bool gmt_allocation_sequence_compute(struct gmt_allocation_sequence *ret_allocations,
	const struct gmt_recording *recording, const struct gmt_traces *traces, uint64_t work_end,
	bool by_stack)
{
	*ret_allocations = (struct gmt_allocation_sequence){
		.recording = recording, .traces = traces, .work_end = work_end, .by_stack = by_stack
	};
	if (!gmt_events_reader_init(&ret_allocations->reader, &recording->events,
			GMT_EVENTS_STAMP | GMT_EVENTS_TRACE))
		return false;
	for (size_t i = recording->compacted_events; i < recording->events.count; i++) {
		const struct gmt_recording_event *event = gmt_events_at(&ret_allocations->reader, i);

		if (is_allocation(ret_allocations, event)) {
			if (!add(ret_allocations, event, i))
				return false;
		} else if (event->kind == GMT_KIND_FREE) {
			ret_allocations->frees += gmt_allocation_sequence_includes(recording, event, work_end);
		}
	}
	turn_last(ret_allocations);
	return true;
}

void gmt_allocation_sequence_forget_last(struct gmt_allocation_sequence *allocations)
{
	gmt_vec_fini(&allocations->last);
}

const struct gmt_allocation_sequence_block *gmt_allocation_sequence_read(
	struct gmt_allocation_sequence *allocations, size_t index)
{
	enum {
		KEPT_BYTES = GMT_ALLOCATION_SEQUENCE_KEPT * sizeof(struct gmt_allocation_sequence_block)
	};
	size_t number = index / GMT_ALLOCATION_SEQUENCE_BLOCK, count = 0;
	struct gmt_allocation_sequence_block *block;

	if (!allocations->kept && !(allocations->kept = gmt_pages_grow(NULL, 0, KEPT_BYTES)))
		return NULL;
	block = &allocations->kept[number % GMT_ALLOCATION_SEQUENCE_KEPT];
	if (block->number_plus_1 == number + 1)
		return block;
	block->number_plus_1 = number + 1;
	for (size_t i = allocations->begins.items[number];
		count < GMT_ALLOCATION_SEQUENCE_BLOCK && i < allocations->recording->events.count; i++) {
		const struct gmt_recording_event *event = gmt_events_at(&allocations->reader, i);

		if (!is_allocation(allocations, event))
			continue;
		block->stamps[count] = event->stamp;
		block->origins[count++] = origin_of(allocations, event);
	}
	return block;
}

void gmt_allocation_sequence_fini(struct gmt_allocation_sequence *allocations)
{
	gmt_events_reader_fini(&allocations->reader);
	gmt_vec_fini(&allocations->begins);
	gmt_vec_fini(&allocations->last);
	gmt_pages_free(allocations->kept, GMT_ALLOCATION_SEQUENCE_KEPT * sizeof(*allocations->kept));
}
