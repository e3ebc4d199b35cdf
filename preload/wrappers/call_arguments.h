/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRAPPERS_CALL_ARGUMENTS_H
#define GMT_WRAPPERS_CALL_ARGUMENTS_H

/*
 * Functions that rows of hooks.def use to examine the arguments of a call: the sizes of arrays, the
 * devices of memory, whether a stream is being captured. wrapper.h includes this file after CUDA's
 * headers.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wrappers/array_size.h"
#include "driver/driver_queries.h"
#include "format/format.h"

/* The number of running stream captures. The recorder queries streams only while it is above 0. */
extern _Atomic int gmt_stream_capture_count;

/*
 * Notes that a graph has a memory node. From now on, the recorder reads graphs when they become
 * executable.
 */
void gmt_graphs_note_memory_node(void);

/*
 * Returns whether a successful call on `stream` made a node of a graph, because the stream is being
 * captured. Notes the node. Does not look at the stream of a failed call, which may be invalid.
 */
static inline bool gmt_call_made_node(bool failed, uint64_t stream)
{
	if (failed || atomic_load_explicit(&gmt_stream_capture_count, memory_order_relaxed) <= 0 ||
		!gmt_driver_is_capturing(stream))
		return false;
	gmt_graphs_note_memory_node();
	return true;
}

/* Return the kind of the event of an allocation or a free on `stream`. */
static inline uint8_t gmt_alloc_kind(bool failed, uint64_t stream)
{
	return gmt_call_made_node(failed, stream) ? GMT_KIND_NODE_ALLOC : GMT_KIND_ALLOC;
}

static inline uint8_t gmt_free_kind(bool failed, uint64_t stream)
{
	return gmt_call_made_node(failed, stream) ? GMT_KIND_NODE_FREE : GMT_KIND_FREE;
}

/* Returns `kind`, and notes that the call made a memory node. */
static inline uint8_t gmt_new_node_kind(enum gmt_event_kind kind)
{
	gmt_graphs_note_memory_node();
	return (uint8_t)kind;
}

/* Returns the size in bytes of the block that contains `address`. Returns 0 if it is unknown. */
static inline uint64_t gmt_range_bytes(uint64_t address)
{
	return gmt_driver_range_bytes(address);
}

/* Return the device of a cuMemCreate handle or of an address, plus 1. Return 0 if it is unknown. */
static inline int gmt_handle_device_plus_1(uint64_t handle)
{
	int device = gmt_driver_device_of_handle(handle);

	return device >= 0 ? device + 1 : 0;
}

static inline int gmt_address_device_plus_1(uint64_t address)
{
	int device = gmt_driver_device_of_address(address);

	return device >= 0 ? device + 1 : 0;
}

/* Returns the device of a location, plus 1. Returns 0 if the location is not a device. */
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

/* Returns the bits of one element, from the runtime's cudaChannelFormatDesc. */
#define CHANNEL_BITS(format) ((format)->x + (format)->y + (format)->z + (format)->w)

/* Convert the driver's descriptions of 2D and 3D arrays for array_size.h. */
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
