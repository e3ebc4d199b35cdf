/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_POOL_H
#define SIMCUDA_POOL_H

#include "driver.h"

/*
 * A memory pool: how much of it is handed out (used) and how much it took from the device
 * (reserved). Reserved grows in units of SIM_GRANULARITY_BYTES as needed; what becomes free stays
 * reserved until a synchronization, which gives back all above the release threshold, or a trim.
 * There is no fragmentation: a pool always fits what its reserved bytes have room for.
 */
struct CUmemPoolHandle_st {
	struct CUmemPoolHandle_st *next; /* in the list of live pools, by which handles are checked */
	struct sim_device *device;       /* NULL: host memory, which no device is charged for */
	bool is_default;
	bool is_destroyed; /* goes when its last block does */
	CUmemPoolProps properties;
	size_t maximum_bytes; /* 0: as much as the device has */
	uint64_t release_threshold_bytes;
	uint64_t used_bytes, used_high_bytes;
	uint64_t reserved_bytes, reserved_high_bytes;
	int reuse[3]; /* CU_MEMPOOL_ATTR_REUSE_*: kept, and without effect */
};

bool sim_pool_is_live(const struct CUmemPoolHandle_st *pool);

#endif
