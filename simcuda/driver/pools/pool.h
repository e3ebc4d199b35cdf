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
	struct sim_device *device;       /* NULL: host or managed memory, which no device is charged for */
	uint64_t id;                     /* in its process */
	int64_t exporter;                /* the process that an imported pool is of */
	bool is_imported;                /* allocates nothing */
	bool is_default;
	bool is_destroyed; /* goes when its last block does */
	CUmemPoolProps properties;
	size_t maximum_bytes; /* 0: as much as the device has */
	uint64_t release_threshold_bytes;
	uint64_t used_bytes, used_high_bytes;
	uint64_t reserved_bytes, reserved_high_bytes;
	int reuse[3]; /* CU_MEMPOOL_ATTR_REUSE_*: kept, and without effect */
	/* CU_MEM_ACCESS_FLAGS_PROT_* of each device, and last of the host. */
	unsigned char access[SIM_MAX_DEVICES + 1];
};

/* pool.c */
/* NULL when memory is short. The caller holds the lock, here and below. */
struct CUmemPoolHandle_st *sim_pool_new(struct sim_device *device, const CUmemPoolProps *properties);
bool sim_pool_is_live(const struct CUmemPoolHandle_st *pool);

/* pool_places.c */
/* Whether there can be a pool for such memory. Needs no lock. */
bool sim_pool_place_is_valid(const CUmemLocation *location, CUmemAllocationType type);
/* Where the pool is the current one, the default one is again. */
void sim_pool_leave_places(const struct CUmemPoolHandle_st *pool);

#endif
