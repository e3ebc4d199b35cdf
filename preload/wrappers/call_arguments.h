/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRAPPERS_CALL_ARGUMENTS_H
#define GMT_WRAPPERS_CALL_ARGUMENTS_H

/*
 * Functions that rows of hooks.def use to examine the arguments of a call: sizes of arrays, places
 * of memory, whether a stream is being captured. wrapper.h includes this file after CUDA's headers.
 * No state, no memory.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wrappers/array_size.h"
#include "driver/driver_queries.h"
#include "format/format.h"

/*
 * Number of stream captures that run in the process. Streams are queried only while it is above 0.
 */
extern _Atomic int gmt_stream_capture_count;

/*
 * Notes that some graph has a memory node. From now on, graphs are read when they become
 * executable.
 */
void gmt_graphs_note_memory_node(void);

/*
 * Returns `captured` if the stream is being captured, else `otherwise`. Does not look at the stream
 * of a failed call, which may be invalid.
 */
static inline uint8_t gmt_captured(bool failed, uint64_t stream, enum gmt_kind captured,
	enum gmt_kind otherwise)
{
	if (failed || atomic_load_explicit(&gmt_stream_capture_count, memory_order_relaxed) <= 0 ||
		!gmt_driver_is_capturing(stream))
		return (uint8_t)otherwise;
	gmt_graphs_note_memory_node();
	return (uint8_t)captured;
}

static inline uint8_t gmt_made_node(enum gmt_kind kind)
{
	gmt_graphs_note_memory_node();
	return (uint8_t)kind;
}

static inline uint64_t gmt_range_bytes(uint64_t address)
{
	return gmt_driver_range_bytes(address);
}

static inline int gmt_handle_device_plus_1(uint64_t handle)
{
	int device = gmt_driver_device_of_handle(handle);

	return device >= 0 ? device + 1 : 0;
}

static inline int gmt_address_device_plus_1(uint64_t address)
{
	int device = gmt_driver_device_of(address);

	return device >= 0 ? device + 1 : 0;
}

/*
 * Returns the device where memory lies, plus 1. Returns 0 for other places: their ids are not
 * device numbers.
 */
static inline int gmt_location_device_plus_1(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? location->id + 1 : 0;
}

static inline uint8_t gmt_location_space(const CUmemLocation *location)
{
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? GMT_SPACE_VMM : GMT_SPACE_VMM_HOST;
}

/* Returns the value of a pool's release threshold. Returns 0 for other attributes of the pool. */
static inline uint64_t gmt_pool_threshold(CUmemPool_attribute attribute, const void *value)
{
	return attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? *(const uint64_t *)value : 0;
}

/* Convert an array description of either kind for array_size.h. */
#define SHAPE_2D(shape) \
	(&(struct gmt_array_shape){ .width = (shape)->Width, \
		.height = (shape)->Height, \
		.channels = (shape)->NumChannels, \
		.format = (unsigned)(shape)->Format })
#define SHAPE_3D(shape) \
	(&(struct gmt_array_shape){ .width = (shape)->Width, \
		.height = (shape)->Height, \
		.depth = (shape)->Depth, \
		.channels = (shape)->NumChannels, \
		.format = (unsigned)(shape)->Format, \
		.flags = (shape)->Flags })

#endif
