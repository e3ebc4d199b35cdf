/* SPDX-License-Identifier: MIT */
#include "marks/custom_heaps.h"

#include <stdatomic.h>
#include <string.h>

#include "producer/clock.h"
#include "producer/event.h"
#include "producer/mark.h"
#include "producer/session_state.h"
#include "runtime/log.h"
#include "driver/driver_queries.h"
#include "runtime/stages.h"

enum { DEVICE_NOT_ASKED = INT16_MIN, BATCH_BLOCKS = 4 };

/*
 * A heap's number determines its index in this table. A number is never used twice. Fields that are
 * not atomic are written before `number`, and do not change while `number` is set.
 */
static struct heap {
	_Atomic uint32_t number; /* 0: the entry is free or being filled */
	_Atomic bool is_taken;
	_Atomic bool is_recorded;    /* the recording contains the heap */
	/* The device of the heap's memory, GMT_DEVICE_HOST or DEVICE_NOT_ASKED. */
	_Atomic int16_t device;
	uint8_t source;
	uint16_t name_length;
	uint32_t uses;           /* how often this table entry was used */
	_Atomic uint32_t order;  /* a younger heap has a larger number; never 0 after the first use */
	uint64_t address;
	_Atomic uint64_t size_bytes;
	_Atomic uintptr_t handle;
	char name[GMT_MARK_NAME_BYTES + 1];
} heaps[GMT_HEAPS_MAX];

static _Atomic uint32_t entries_used; /* entries below this index were used at least once */
static _Atomic uint32_t heaps_begun; /* number of heaps ever registered */
static _Atomic bool reported_too_many;

static struct heap *find(uint32_t number)
{
	struct heap *heap = &heaps[(number - 1) % GMT_HEAPS_MAX];

	/* Pairs with the release in gmt_custom_heap_begin: the entry is complete. */
	return number && atomic_load_explicit(&heap->number, memory_order_acquire) == number ? heap
																						 : NULL;
}

static struct heap *take_entry(void)
{
	for (uint32_t i = 0; i < GMT_HEAPS_MAX; i++) {
		bool is_taken = false;

		if (atomic_load_explicit(&heaps[i].is_taken, memory_order_relaxed) ||
			!atomic_compare_exchange_strong(&heaps[i].is_taken, &is_taken, true))
			continue;
		uint32_t used = atomic_load(&entries_used);
		while (used <= i && !atomic_compare_exchange_weak(&entries_used, &used, i + 1))
			;
		return &heaps[i];
	}
	return NULL;
}

/*
 * Call in the recorder. Returns the device of the heap's own memory or, if it is unknown, of
 * `block`.
 */
static int16_t device_of(struct heap *heap, uint64_t block)
{
	int16_t device = atomic_load_explicit(&heap->device, memory_order_relaxed);

	if (device != DEVICE_NOT_ASKED)
		return device;
	if (!heap->address && !block)
		return GMT_DEVICE_UNKNOWN;
	device = gmt_driver_location_of_address(heap->address ? heap->address : block);
	if (device != GMT_DEVICE_UNKNOWN)
		atomic_store_explicit(&heap->device, device, memory_order_relaxed);
	return device;
}

static struct gmt_ring_event event_of(enum gmt_event_kind kind, uint32_t number, int16_t device,
	uint64_t stamp)
{
	return (struct gmt_ring_event){
		.stamp = stamp,
		.object = number,
		.kind = (uint8_t)kind,
		.layer = GMT_LAYER_CUSTOM,
		.space = device == GMT_DEVICE_HOST ? GMT_SPACE_HEAP_HOST : GMT_SPACE_HEAP,
		.device = device,
	};
}

/*
 * Call in the recorder, before the heap's first event. Records the heap's name. Fills the heap's
 * create event and returns 1; returns 0 if the recording already contains the heap. A heap with an
 * unknown device waits for a block that shows the device.
 */
static unsigned fill_create_event(struct heap *heap, uint32_t number, int16_t device,
	uint64_t stamp, struct gmt_ring_event *ret_event)
{
	if (atomic_load_explicit(&heap->is_recorded, memory_order_relaxed) ||
		atomic_exchange_explicit(&heap->is_recorded, true, memory_order_relaxed))
		return 0;
	gmt_mark_in_recorder(GMT_MARK_KIND_HEAP, (enum gmt_mark_source)heap->source, heap->name,
		heap->name_length, number, stamp);
	*ret_event = event_of(GMT_KIND_CREATE, number, device, stamp);
	ret_event->address = heap->address;
	ret_event->size_bytes = atomic_load_explicit(&heap->size_bytes, memory_order_relaxed);
	return 1;
}

uint32_t gmt_custom_heap_begin(enum gmt_mark_source source, const char *name, size_t length,
	uint64_t address, uint64_t size_bytes)
{
	struct heap *heap = take_entry();
	struct gmt_ring_event event;
	uint64_t stamp;
	uint32_t number;
	int16_t device;
	unsigned count = 0;

	if (!heap) {
		if (!atomic_exchange(&reported_too_many, true))
			gmt_log_note("the program has more heaps at the same time than the recorder supports: "
						 "some are not recorded");
		return 0;
	}
	number = heap->uses++ * GMT_HEAPS_MAX + (uint32_t)(heap - heaps) + 1;
	heap->source = (uint8_t)source;
	heap->name_length = (uint16_t)gmt_mark_name_length(name, length);
	if (heap->name_length)
		memcpy(heap->name, name, heap->name_length);
	heap->address = address;
	atomic_store_explicit(&heap->size_bytes, size_bytes, memory_order_relaxed);
	atomic_store_explicit(&heap->device, DEVICE_NOT_ASKED, memory_order_relaxed);
	atomic_store_explicit(&heap->handle, 0, memory_order_relaxed);
	atomic_store_explicit(&heap->is_recorded, false, memory_order_relaxed);
	atomic_store_explicit(&heap->order, atomic_fetch_add(&heaps_begun, 1) + 1,
		memory_order_relaxed);
	atomic_store_explicit(&heap->number, number, memory_order_release);

	if (!gmt_session_is_on())
		return number;
	stamp = gmt_clock_stamp();
	if (gmt_event_begin()) {
		device = device_of(heap, 0);
		if (device != GMT_DEVICE_UNKNOWN)
			count = fill_create_event(heap, number, device, stamp, &event);
		gmt_event_end(&event, count);
	}
	return number;
}

void gmt_custom_heap_alloc(uint32_t number, const struct gmt_heap_block *blocks, size_t count,
	uint64_t stream)
{
	struct heap *heap = gmt_session_is_on() ? find(number) : NULL;
	uint64_t stamp = heap ? gmt_clock_stamp() : 0;

	while (heap && count) {
		struct gmt_ring_event events[1 + BATCH_BLOCKS];
		unsigned filled = 0;
		int16_t device;

		if (!gmt_event_begin())
			return;
		device = device_of(heap, blocks->address);
		filled += fill_create_event(heap, number, device, stamp, events);
		for (unsigned i = 0; i < BATCH_BLOCKS && count; i++, count--, blocks++) {
			if (!blocks->address)
				continue;
			events[filled] = event_of(GMT_KIND_ALLOC, number, device, stamp);
			events[filled].address = blocks->address;
			events[filled].size_bytes = blocks->size_bytes;
			events[filled++].stream = stream;
		}
		gmt_event_end(events, filled);
	}
}

/* Records one event of a heap that the recording contains, or of number 0. */
static void record(enum gmt_event_kind kind, uint32_t number, uint64_t address, uint64_t size_bytes)
{
	struct heap *heap = find(number);
	struct gmt_ring_event event;

	if (!gmt_session_is_on() ||
		(number && (!heap || !atomic_load_explicit(&heap->is_recorded, memory_order_relaxed))))
		return;
	event = event_of(kind, number,
		heap ? atomic_load_explicit(&heap->device, memory_order_relaxed) : GMT_DEVICE_UNKNOWN,
		gmt_clock_stamp());
	if (event.device == DEVICE_NOT_ASKED)
		event.device = GMT_DEVICE_UNKNOWN;
	event.address = address;
	event.size_bytes = size_bytes;
	if (gmt_event_begin())
		gmt_event_end(&event, 1);
}

void gmt_custom_heap_free(uint32_t number, uint64_t address)
{
	if (address)
		record(GMT_KIND_FREE, number, address, 0);
}

void gmt_custom_heap_resize_block(uint64_t address, uint64_t size_bytes)
{
	if (address)
		record(GMT_KIND_RESIZE, 0, address, size_bytes);
}

void gmt_custom_heap_resize(uint32_t number, uint64_t size_bytes)
{
	struct heap *heap = find(number);

	if (!heap)
		return;
	atomic_store_explicit(&heap->size_bytes, size_bytes, memory_order_relaxed);
	record(GMT_KIND_RESIZE, number, 0, size_bytes);
}

void gmt_custom_heap_reset(uint32_t number)
{
	if (number)
		record(GMT_KIND_RESET, number, 0, 0);
}

void gmt_custom_heap_end(uint32_t number)
{
	struct heap *heap = find(number);

	if (!heap)
		return;
	record(GMT_KIND_DESTROY, number, 0, 0);
	/* If two threads end the heap, only one of them frees the entry. */
	if (atomic_compare_exchange_strong(&heap->number, &number, 0))
		atomic_store_explicit(&heap->is_taken, false, memory_order_release);
}

void gmt_custom_heap_set_handle(uint32_t number, const void *handle)
{
	struct heap *heap = find(number);

	if (heap)
		atomic_store_explicit(&heap->handle, (uintptr_t)handle, memory_order_release);
}

uint32_t gmt_custom_heap_by_handle(const void *handle)
{
	uint32_t used = atomic_load_explicit(&entries_used, memory_order_acquire);
	uint32_t found = 0, youngest = 0;

	for (uint32_t i = 0; handle && i < used; i++) {
		uint32_t number = atomic_load_explicit(&heaps[i].number, memory_order_acquire);
		uint32_t order = atomic_load_explicit(&heaps[i].order, memory_order_relaxed);

		if (number && order > youngest &&
			atomic_load_explicit(&heaps[i].handle, memory_order_relaxed) == (uintptr_t)handle) {
			found = number;
			youngest = order;
		}
	}
	return found;
}

/* Marks all heaps as not recorded, because the child of a fork has its own recording. */
static void after_fork(void)
{
	for (uint32_t i = 0; i < atomic_load(&entries_used); i++)
		atomic_store_explicit(&heaps[i].is_recorded, false, memory_order_relaxed);
}

GMT_AT_STAGE(after_fork, MARKS, after_fork);
