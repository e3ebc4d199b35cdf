/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_KNOWN_POOLS_H
#define GMT_DRIVER_KNOWN_POOLS_H

/*
 * The memory pools of the process: the device of each pool, and the pools that the sampler queries.
 * The recorder knows a pool from the call that creates it or returns it. In the flow: wrappers of
 * pool functions -> pools -> sampler. Any thread. At most GMT_POOLS_MAX pools are known. For a
 * further pool, the device of the stream counts as its device.
 */

#include <stdbool.h>
#include <stdint.h>

enum { GMT_POOLS_MAX = 256, GMT_POOLS_DEVICES = 64 };

/* As in a `pool` record (format/records.def). */
enum gmt_pool_origin { GMT_POOL_DEFAULT, GMT_POOL_MADE, GMT_POOL_IMPORTED };

struct gmt_pool_info {
	uint64_t handle;
	int16_t device; /* or GMT_DEVICE_HOST; GMT_DEVICE_UNKNOWN for a pool of another process */
	uint8_t origin; /* enum gmt_pool_origin */
	bool is_managed; /* its blocks move to the place that uses them */
};

void gmt_known_pools_add(const struct gmt_pool_info *pool);

/* Adds the default pool of a device (below GMT_POOLS_DEVICES). The device must have a context. */
void gmt_known_pools_add_default(int device);

/*
 * Removes a pool before the program's call that destroys it. When this returns, no thread is
 * querying the pool (the wait is bounded). Copies the pool's data to *ret_pool, in case the call
 * fails. Returns false if the pool was not known.
 */
bool gmt_known_pools_remove(uint64_t handle, struct gmt_pool_info *ret_pool);

/*
 * Returns the ordinal of the pool's device, plus 1. Returns -1 for the host, 0 if the device is
 * unknown.
 */
int gmt_known_pools_device_plus_1(uint64_t handle);

/* Returns the space of the pool's blocks: GMT_SPACE_POOL or GMT_SPACE_MANAGED. */
uint8_t gmt_known_pools_space(uint64_t handle);

/*
 * Holds pool number `index` (below GMT_POOLS_MAX), so that it is not destroyed meanwhile. Returns
 * false if there is no such pool. gmt_known_pools_release must follow soon.
 */
bool gmt_known_pools_hold(unsigned index, struct gmt_pool_info *ret_pool);
void gmt_known_pools_release(unsigned index);

#endif
