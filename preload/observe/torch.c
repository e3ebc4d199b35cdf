/* SPDX-License-Identifier: MIT */
/*
 * PyTorch's blocks. Its allocators tell a profiler of every block that they hand out or take back,
 * through a function of libc10 that is called across a library boundary and can therefore be taken
 * over; with it come the allocator's own totals.
 *
 * c10::reportMemoryUsageToProfiler(void *ptr, int64_t alloc_size, size_t total_allocated,
 *                                  size_t total_reserved, c10::Device)      negative size: a free
 * c10::reportOutOfMemoryToProfiler(int64_t alloc_size, size_t total_allocated, size_t total_reserved,
 *                                  c10::Device)
 *
 * The allocator holds its lock while it reports, so stamps of one device's blocks have the order in
 * which it counted them, and the peak of their sum is its own peak.
 */
#include <stdbool.h>
#include <stdint.h>

#include "call_counts.h"
#include "hooks.h"
#include "observe/optimizer.h"
#include "record/clock.h"
#include "record/commit.h"
#include "record/oom.h"
#include "routes/real.h"
#include "thread.h"
#include "wire/format.h"

/* c10::Device as the calling convention passes it: two bytes in one register. */
struct c10_device {
	int8_t type;
	int8_t index;
};

enum { C10_CUDA = 1 }; /* the CPU's blocks are reported here too */

static void record(enum gmt_hook hook, enum gmt_kind kind, uint64_t address, uint64_t size_bytes,
	uint64_t allocated_bytes, uint64_t reserved_bytes, struct c10_device device)
{
	struct gmt_ring_event event = {
		.stamp = gmt_clock_stamp(),
		.address = address,
		.size_bytes = size_bytes,
		.allocated_bytes = allocated_bytes,
		.reserved_bytes = reserved_bytes,
		.api = (uint16_t)hook,
		.kind = (uint8_t)kind,
		.layer = GMT_LAYER_TORCH,
		.space = GMT_SPACE_DEVICE,
		.device = device.index,
	};

	if (!gmt_commit_begin()) {
		gmt_call_count(hook);
		return;
	}
	gmt_call_count_in(gmt_this_thread.call_counts, hook);
	if (kind == GMT_KIND_ALLOC_FAILED)
		gmt_oom_end(&event);
	else
		gmt_commit_end(&event, 1);
}

static void on_usage(enum gmt_hook hook, void *address, int64_t size_bytes, uint64_t allocated_bytes,
	uint64_t reserved_bytes, struct c10_device device)
{
	if (device.type != C10_CUDA || !address || !size_bytes)
		return;
	if (size_bytes > 0)
		record(hook, GMT_KIND_ALLOC, (uint64_t)address, (uint64_t)size_bytes, allocated_bytes,
			reserved_bytes, device);
	else
		record(hook, GMT_KIND_FREE, (uint64_t)address, 0 - (uint64_t)size_bytes, allocated_bytes,
			reserved_bytes, device);
	gmt_optimizer_see_block();
}

static void on_out_of_memory(enum gmt_hook hook, int64_t size_bytes, uint64_t allocated_bytes,
	uint64_t reserved_bytes, struct c10_device device)
{
	if (device.type == C10_CUDA)
		record(hook, GMT_KIND_ALLOC_FAILED, 0, (uint64_t)size_bytes, allocated_bytes, reserved_bytes, device);
}

typedef void usage_function(void *, int64_t, uint64_t, uint64_t, struct c10_device);
typedef void out_of_memory_function(int64_t, uint64_t, uint64_t, struct c10_device);

/* Both manglings of a name have one body. */
#define USAGE_WRAPPER(symbol) \
	usage_function gmt_wrap_##symbol; \
	__attribute__((visibility("default"), alias("gmt_wrap_" #symbol))) usage_function symbol; \
	void gmt_wrap_##symbol(void *address, int64_t size_bytes, uint64_t allocated_bytes, \
		uint64_t reserved_bytes, struct c10_device device) \
	{ \
		usage_function *real = (usage_function *)gmt_real_for(GMT_HOOK_##symbol, __builtin_return_address(0)); \
		on_usage(GMT_HOOK_##symbol, address, size_bytes, allocated_bytes, reserved_bytes, device); \
		if (real) \
			real(address, size_bytes, allocated_bytes, reserved_bytes, device); \
	}

#define OUT_OF_MEMORY_WRAPPER(symbol) \
	out_of_memory_function gmt_wrap_##symbol; \
	__attribute__((visibility("default"), alias("gmt_wrap_" #symbol))) out_of_memory_function symbol; \
	void gmt_wrap_##symbol(int64_t size_bytes, uint64_t allocated_bytes, uint64_t reserved_bytes, \
		struct c10_device device) \
	{ \
		out_of_memory_function *real = \
			(out_of_memory_function *)gmt_real_for(GMT_HOOK_##symbol, __builtin_return_address(0)); \
		on_out_of_memory(GMT_HOOK_##symbol, size_bytes, allocated_bytes, reserved_bytes, device); \
		if (real) \
			real(size_bytes, allocated_bytes, reserved_bytes, device); \
	}

USAGE_WRAPPER(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE)
USAGE_WRAPPER(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE)
OUT_OF_MEMORY_WRAPPER(_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE)
OUT_OF_MEMORY_WRAPPER(_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE)
