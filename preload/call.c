/* SPDX-License-Identifier: MIT */
#include "call.h"

#include "observe/optimizer.h"
#include "record/clock.h"
#include "record/commit.h"
#include "record/oom.h"
#include "routes/driver.h"

static int16_t device_of(enum gmt_space space, uint64_t stream)
{
	return gmt_space_side(space) == GMT_SIDE_HOST ? GMT_DEVICE_HOST : (int16_t)gmt_driver_device(stream);
}

void gmt_call_alloc(enum gmt_hook hook, uint32_t result, enum gmt_space space, uint64_t address,
	uint64_t size_bytes, uint64_t stream)
{
	struct gmt_ring_event event = {
		.stamp = gmt_clock_stamp(),
		.address = address,
		.size_bytes = size_bytes,
		.stream = stream,
		.result = result,
		.api = (uint16_t)hook,
		.kind = result ? GMT_KIND_ALLOC_FAILED : GMT_KIND_ALLOC,
		.layer = GMT_LAYER_CUDA,
		.space = (uint8_t)space,
	};

	/* Zero bytes were asked for and given. */
	if (!result && !address)
		return;
	if (!gmt_commit_begin())
		return;
	event.device = device_of(space, stream);
	if (result == GMT_OOM_RESULT)
		gmt_oom_end(&event);
	else
		gmt_commit_end(&event, true);
	/* With its backend cudaMallocAsync, PyTorch tells of no blocks: these are its own. */
	if (space == GMT_SPACE_POOL && !result)
		gmt_optimizer_see_block();
}

void gmt_call_free(enum gmt_hook hook, uint32_t result, enum gmt_space space, uint64_t address,
	uint64_t stream, uint64_t stamp)
{
	struct gmt_ring_event event = {
		.stamp = stamp,
		.address = address,
		.stream = stream,
		.result = result,
		.api = (uint16_t)hook,
		.kind = result ? GMT_KIND_FREE_FAILED : GMT_KIND_FREE,
		.layer = GMT_LAYER_CUDA,
		.space = (uint8_t)space,
		.device = gmt_space_side(space) == GMT_SIDE_HOST ? GMT_DEVICE_HOST : GMT_DEVICE_UNKNOWN,
	};

	if (!address || !gmt_commit_begin())
		return;
	/* A refused free is a bug of the program: where it stands matters as much as for an allocation. */
	gmt_commit_end(&event, result != 0);
}
