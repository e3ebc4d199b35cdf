/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_DRIVER_QUERIES_H
#define GMT_DRIVER_DRIVER_QUERIES_H

/*
 * The queries that the recorder makes to the driver. No query invalidates a stream capture or needs
 * memory. The recorder makes no query while the process exits. The queries keep errno. They fail
 * until the recorder knows the driver (interpose/driver_library.h).
 */

#include <stdbool.h>
#include <stdint.h>

/* The device and context of a call. */
struct gmt_driver_target {
	int16_t device;   /* ordinal, or GMT_DEVICE_UNKNOWN */
	uint16_t context; /* its number (driver/contexts.h); 0: unknown */
};

/* Returns the target of a call on `stream` (0: the default stream) in this thread. */
struct gmt_driver_target gmt_driver_target(uint64_t stream);

/* Returns whether calls on `stream` create graph nodes; false if the query fails. */
bool gmt_driver_is_capturing(uint64_t stream);

/* Returns whether the primary context of a device exists. */
bool gmt_driver_primary_is_active(int device);

/* Returns the handle of an existing primary context; 0 if it does not exist or the query fails. */
uint64_t gmt_driver_primary(int device);

/* Returns the CUcontext handle of a green context (cuCtxFromGreenCtx); 0 if the query fails. */
uint64_t gmt_driver_green_view(uint64_t green);

/*
 * Returns the ordinal of the device that has the memory of a cuMemCreate handle. Returns
 * GMT_DEVICE_UNKNOWN if the query fails.
 */
int gmt_driver_device_of_handle(uint64_t handle);

/*
 * Returns the ordinal of the device with the memory at `address`; GMT_DEVICE_UNKNOWN if the query
 * fails.
 */
int gmt_driver_device_of_address(uint64_t address);

/* Returns the handle of a device's default memory pool; 0 if the query fails. */
uint64_t gmt_driver_default_pool(int device);

/* Returns the size in bytes of the block that contains `address`; 0 if the query fails. */
uint64_t gmt_driver_range_bytes(uint64_t address);

struct gmt_driver_device_info {
	char name[128];
	char uuid[48]; /* GPU-... */
	char pci_bus_id[24]; /* "" if the query fails */
	uint64_t total_bytes;
};

/*
 * Gets the free and total memory of `device`. Returns false, and sets nothing, if this thread's
 * current context belongs to another device.
 */
bool gmt_driver_memory_of_device(int device, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes);

/*
 * Same as above, for the device of the current context. Returns its ordinal, or GMT_DEVICE_UNKNOWN
 * if the query fails.
 */
int gmt_driver_memory_of_current(uint64_t *ret_free_bytes, uint64_t *ret_total_bytes);

/*
 * Sets the capture mode of a thread of the recorder, so that its calls never invalidate another
 * thread's stream capture. Returns false if it fails. The thread must not use the functions below
 * before it, or if it fails.
 */
bool gmt_driver_relax_capture_mode(void);

/*
 * Gets the free and total memory of the device of a context. The context must exist during the
 * call. Afterwards this thread has no current context.
 */
bool gmt_driver_memory_of_context(uint64_t context, uint64_t *ret_free_bytes,
	uint64_t *ret_total_bytes);

/* The attributes of a memory pool. */
struct gmt_driver_pool_attributes {
	uint64_t reserved_bytes, used_bytes, reserved_high_bytes, used_high_bytes;
	uint64_t threshold_bytes; /* memory that the pool may keep at a synchronization */
};

/*
 * Reads the attributes of a pool. The pool must exist during the call. Returns false if a query
 * fails.
 */
bool gmt_driver_pool_attributes(uint64_t pool, struct gmt_driver_pool_attributes *ret_pool);

/* Gets how much memory a device reserves for memory nodes of graphs, and how much the nodes use. */
bool gmt_driver_graph_memory(int device, uint64_t *ret_reserved_bytes, uint64_t *ret_used_bytes);

/*
 * Returns where the memory at `address` is: a device's ordinal, or GMT_DEVICE_HOST for any memory
 * that is not a device's. Returns GMT_DEVICE_UNKNOWN if the query fails.
 */
int16_t gmt_driver_location_of_address(uint64_t address);

/* The driver functions that list the nodes of a graph. The caller casts them to CUDA's types. */
struct gmt_driver_graph_functions {
	void *get_nodes, *get_type, *get_alloc, *get_free, *get_child;
};

/* Returns NULL if the driver is not known, or lacks one of these functions. */
const struct gmt_driver_graph_functions *gmt_driver_graph_functions(void);

/* Returns the number of devices; 0 if the query fails. */
unsigned gmt_driver_device_count(void);

/* Fills in the driver's data of a device. Returns false if a query fails. */
bool gmt_driver_device_info(unsigned ordinal, struct gmt_driver_device_info *ret_info);

#endif
