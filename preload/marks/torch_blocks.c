/* SPDX-License-Identifier: MIT */
/*
 * Records PyTorch's blocks. PyTorch's allocators report every block that they hand out or take back
 * to a profiler, with the allocator's own totals, by the functions of libc10 below. The calls cross
 * a library boundary, so the recorder can replace the functions.
 *
 * c10::reportMemoryUsageToProfiler(void *ptr, int64_t alloc_size, size_t total_allocated,
 *     size_t total_reserved, c10::Device)      negative size: a free
 * c10::reportOutOfMemoryToProfiler(int64_t alloc_size, size_t total_allocated,
 *     size_t total_reserved, c10::Device)
 *
 * The allocator holds its lock while it reports. So the stamps of one device's blocks have the
 * allocator's own order, and the peak of their sum is the allocator's own peak.
 */
#include <stddef.h>
#include <stdint.h>

#include "hooks/call_counts.h"
#include "hooks/hooks.h"
#include "marks/optimizer_steps.h"
#include "producer/clock.h"
#include "producer/event.h"
#include "producer/event_fast_path.h"
#include "driver/oom.h"
#include "interpose/originals.h"
#include "producer/thread_state.h"
#include "format/format.h"

/* c10::Device as the calling convention passes it: two bytes in one register. */
struct c10_device {
	int8_t type;
	int8_t index;
};

enum { C10_CUDA = 1 }; /* blocks of other devices, such as the CPU, are not recorded */

/* A block that was handed out or taken back. */
struct report {
	uint64_t stamp, address, size_bytes, allocated_bytes, reserved_bytes;
	uint16_t hook; /* enum gmt_hook */
	uint8_t kind;  /* enum gmt_event_kind */
	int8_t device;
};

static inline void fill(struct gmt_ring_event *event, const struct report *report,
	struct gmt_event_stacks stacks)
{
	*event = (struct gmt_ring_event){
		.stamp = report->stamp,
		.address = report->address,
		.size_bytes = report->size_bytes,
		.allocated_bytes = report->allocated_bytes,
		.reserved_bytes = report->reserved_bytes,
		.stack = stacks.native,
		.frames = stacks.python,
		.api = report->hook,
		.kind = report->kind,
		.layer = GMT_LAYER_TORCH,
		.space = GMT_SPACE_DEVICE,
		.device = report->device,
	};
}

/* The slow paths take the struct by value: so the fast path can keep it in registers. */
__attribute__((noinline)) static void end_slow(struct report report)
{
	struct gmt_ring_event event;

	fill(&event, &report, (struct gmt_event_stacks){ 0 });
	gmt_event_end_slow(&event);
}

__attribute__((noinline)) static void push(struct report report, struct gmt_event_stacks stacks)
{
	struct gmt_ring_event event;

	fill(&event, &report, stacks);
	gmt_event_push(&event);
}

__attribute__((always_inline)) static inline void record(struct report report)
{
	struct gmt_thread_state *thread = &gmt_this_thread;
	struct gmt_event_stacks stacks = { 0 };
	struct gmt_ring_event *slot;

	if (!gmt_event_enter(thread)) {
		gmt_call_counts_add_shared(report.hook);
		return;
	}
	gmt_call_counts_add(thread->call_counts, report.hook);
	if (!gmt_event_is_on()) {
		end_slow(report);
		return;
	}
	if (gmt_event_wants_stack(report.kind, report.address, 0))
		stacks = gmt_event_capture(thread);
	slot = gmt_event_slot(thread);
	if (__builtin_expect(slot != NULL, 1)) {
		fill(slot, &report, stacks);
		gmt_event_publish(thread);
	} else {
		push(report, stacks);
	}
	gmt_event_leave(thread);
}

__attribute__((always_inline)) static inline void on_usage(enum gmt_hook hook, void *address,
	int64_t size_bytes, uint64_t allocated_bytes, uint64_t reserved_bytes, struct c10_device device)
{
	struct report report = {
		.address = (uint64_t)address,
		.allocated_bytes = allocated_bytes,
		.reserved_bytes = reserved_bytes,
		.hook = (uint16_t)hook,
		.device = device.index,
	};

	if (device.type != C10_CUDA || !address || !size_bytes)
		return;
	report.stamp = gmt_clock_stamp();
	if (size_bytes > 0) {
		report.kind = GMT_KIND_ALLOC;
		report.size_bytes = (uint64_t)size_bytes;
		record(report);
	} else {
		report.kind = GMT_KIND_FREE;
		report.size_bytes = 0 - (uint64_t)size_bytes;
		record(report);
	}
	gmt_optimizer_on_block();
}

static void on_out_of_memory(enum gmt_hook hook, int64_t size_bytes, uint64_t allocated_bytes,
	uint64_t reserved_bytes, struct c10_device device)
{
	const struct report report = {
		.stamp = gmt_clock_stamp(),
		.size_bytes = (uint64_t)size_bytes,
		.allocated_bytes = allocated_bytes,
		.reserved_bytes = reserved_bytes,
		.hook = (uint16_t)hook,
		.kind = GMT_KIND_ALLOC_FAILED,
		.device = device.index,
	};
	struct gmt_ring_event event;

	if (device.type != C10_CUDA)
		return;
	if (!gmt_event_begin()) {
		gmt_call_counts_add_shared(hook);
		return;
	}
	gmt_call_counts_add(gmt_this_thread.call_counts, hook);
	fill(&event, &report, (struct gmt_event_stacks){ 0 });
	gmt_oom_record(&event);
}

typedef void usage_function(void *, int64_t, uint64_t, uint64_t, struct c10_device);
typedef void out_of_memory_function(int64_t, uint64_t, uint64_t, struct c10_device);

/* Both manglings of a name share one body. */
#define USAGE_WRAPPER(symbol) \
	usage_function gmt_wrap_##symbol; \
	__attribute__((visibility("default"), alias("gmt_wrap_" #symbol))) usage_function symbol; \
	void gmt_wrap_##symbol(void *address, int64_t size_bytes, uint64_t allocated_bytes, \
		uint64_t reserved_bytes, struct c10_device device) \
	{ \
		usage_function *real; \
		on_usage(GMT_HOOK_##symbol, address, size_bytes, allocated_bytes, reserved_bytes, device); \
		real = (usage_function *)gmt_original_outside_driver(GMT_HOOK_##symbol, \
			__builtin_return_address(0)); \
		if (real) \
			real(address, size_bytes, allocated_bytes, reserved_bytes, device); \
	}

#define OUT_OF_MEMORY_WRAPPER(symbol) \
	out_of_memory_function gmt_wrap_##symbol; \
	__attribute__((visibility("default"), \
		alias("gmt_wrap_" #symbol))) out_of_memory_function symbol; \
	void gmt_wrap_##symbol(int64_t size_bytes, uint64_t allocated_bytes, uint64_t reserved_bytes, \
		struct c10_device device) \
	{ \
		out_of_memory_function *real = \
			(out_of_memory_function *)gmt_original_outside_driver(GMT_HOOK_##symbol, \
				__builtin_return_address(0)); \
		on_out_of_memory(GMT_HOOK_##symbol, size_bytes, allocated_bytes, reserved_bytes, device); \
		if (real) \
			real(size_bytes, allocated_bytes, reserved_bytes, device); \
	}

USAGE_WRAPPER(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE)
USAGE_WRAPPER(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE)
OUT_OF_MEMORY_WRAPPER(_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE)
OUT_OF_MEMORY_WRAPPER(_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE)
