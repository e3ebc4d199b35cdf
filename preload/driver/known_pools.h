/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_KNOWN_POOLS_H
#define GMT_DRIVER_KNOWN_POOLS_H

/*
 * The memory pools of the process and their devices. The wrappers of the pool functions add a pool
 * when a call creates it or returns it. The sampler queries the pools. Any thread. At most
 * GMT_POOLS_MAX pools are known. For blocks of a further pool, the device of the stream counts.
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
	bool is_managed; /* its blocks are managed memory, which moves between devices */
};

void gmt_known_pools_add(const struct gmt_pool_info *pool);

/* Adds the default pool of a device (below GMT_POOLS_DEVICES). The device must have a context. */
void gmt_known_pools_add_default(int device);

/*
 * Removes a pool before the program's call that destroys it. Waits until no thread queries the
 * pool, for a bounded time. Copies the pool's data to *ret_pool, in case the call fails. Returns
 * false if the pool was not known.
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
 * Holds pool number `index` (below GMT_POOLS_MAX): the program cannot destroy it until
 * gmt_known_pools_release, which must follow soon. Returns false if no pool has this number.
 */
bool gmt_known_pools_hold(unsigned index, struct gmt_pool_info *ret_pool);
void gmt_known_pools_release(unsigned index);

#endif
