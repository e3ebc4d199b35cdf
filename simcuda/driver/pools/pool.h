/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_POOL_H
#define SIMCUDA_POOL_H

#include "driver.h"

/*
 * A memory pool. `used` counts the bytes in use; `reserved` counts the bytes taken from the device.
 * `reserved` grows in units of SIM_GRANULARITY_BYTES. Freed memory stays reserved until a
 * synchronization, which gives back everything above the release threshold, or until a trim. There
 * is no fragmentation: an allocation fits whenever enough reserved bytes are free.
 */
struct CUmemPoolHandle_st {
	struct CUmemPoolHandle_st *next; /* in the list of live pools; handles are checked against it */
	struct sim_device *device; /* NULL: host or managed memory; no device is charged */
	uint64_t id; /* unique in its process */
	int64_t exporter; /* for an imported pool: the process that exported it */
	bool is_imported; /* cannot allocate */
	bool is_default;
	bool is_destroyed; /* freed with its last block */
	CUmemPoolProps properties;
	size_t maximum_bytes; /* 0: limited only by the device */
	uint64_t release_threshold_bytes;
	uint64_t used_bytes, used_high_bytes;
	uint64_t reserved_bytes, reserved_high_bytes;
	int reuse[3]; /* CU_MEMPOOL_ATTR_REUSE_*: stored, without effect */
	/* CU_MEM_ACCESS_FLAGS_PROT_* of each device. The last entry is for the host. */
	unsigned char access[SIM_MAX_DEVICES + 1];
};

/* pool.c */
/* Makes a pool. Returns NULL if memory is short. The caller holds the lock, here and below. */
struct CUmemPoolHandle_st *sim_pool_new(struct sim_device *device,
	const CUmemPoolProps *properties);
bool sim_pool_is_live(const struct CUmemPoolHandle_st *pool);

/* pool_locations.c */
/* Returns whether a pool of such memory can exist. Needs no lock. */
bool sim_pool_location_is_valid(const CUmemLocation *location, CUmemAllocationType type);
/* Makes the default pool current again in each place where `pool` is current. */
void sim_pool_unset_current(const struct CUmemPoolHandle_st *pool);

#endif
