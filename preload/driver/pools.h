/* SPDX-License-Identifier: MIT */
#ifndef GMT_DRIVER_POOLS_H
#define GMT_DRIVER_POOLS_H

/*
 * The memory pools of the process: which device each is on, and which there are to be asked what they
 * hold. A pool is known from the call that makes it, or hands it out. In the flow: the wrappers of pool
 * functions -> pools -> the sampler. Any thread; at most
 * GMT_POOLS_MAX are known, beyond which a pool's device is that of the stream.
 */

#include <stdbool.h>
#include <stdint.h>

enum { GMT_POOLS_MAX = 256, GMT_POOLS_DEVICES = 64 };

/* As a `pool` record says it (format/records.def). */
enum gmt_pool_origin { GMT_POOL_DEFAULT, GMT_POOL_MADE, GMT_POOL_IMPORTED };

struct gmt_pool_info {
	uint64_t handle;
	int16_t device; /* or GMT_DEVICE_HOST; GMT_DEVICE_UNKNOWN of another process's */
	uint8_t origin; /* enum gmt_pool_origin */
	bool is_managed; /* its blocks are where they are touched */
};

void gmt_pools_add(const struct gmt_pool_info *pool);

/* The pool that a device (below GMT_POOLS_DEVICES) has from the beginning; for one that has a context. */
void gmt_pools_add_default(int device);

/*
 * Before the program's call that ends a pool: it is not known any more, and nobody is asking it when this
 * returns (a bounded wait). What it was, for the case that it does not end; false when it was not known.
 */
bool gmt_pools_remove(uint64_t handle, struct gmt_pool_info *ret_pool);

/* Ordinal of the device that a pool is on, plus 1; -1: the host; 0 when it is not known. */
int gmt_pools_device_plus_1(uint64_t handle);

/* What memory its blocks are: GMT_SPACE_POOL or GMT_SPACE_MANAGED. */
uint8_t gmt_pools_space(uint64_t handle);

/*
 * Takes hold of pool number `index` (below GMT_POOLS_MAX), so that it is not ended meanwhile; false when
 * there is none. Paired with gmt_pools_release, soon.
 */
bool gmt_pools_hold(unsigned index, struct gmt_pool_info *ret_pool);
void gmt_pools_release(unsigned index);

/* In the child of a fork. */
void gmt_pools_reset_locks(void);

#endif
