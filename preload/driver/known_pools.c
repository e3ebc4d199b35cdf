/* SPDX-License-Identifier: MIT */
#include "driver/known_pools.h"

#include <stdatomic.h>

#include "runtime/config.h"
#include "runtime/bounded_wait.h"
#include "driver/driver_queries.h"
#include "format/format.h"
#include "runtime/stages.h"

enum { WAIT_NS = 2000000000 }; /* same as for contexts (driver/contexts.c) */

/*
 * A slot is free, or has a pool, or is held by a thread that fills, empties or queries it. Only
 * that thread writes the slot, with one exception: a thread whose wait is over clears the handle.
 * The next gmt_known_pools_hold then frees the slot.
 */
enum state { FREE, HELD, READY };

static struct slot {
	_Atomic int state;
	_Atomic uint64_t handle;
	_Atomic int16_t device;
	_Atomic uint8_t origin;
	_Atomic bool is_managed;
} slots[GMT_POOLS_MAX];

static struct {
	_Atomic uint64_t known_defaults; /* one bit for each device */
	_Atomic bool knows_all_defaults;
} pools;

/* Holds a slot that is in the state `from`. Returns false if it is in another state. */
static bool hold_slot(struct slot *slot, int from)
{
	return atomic_compare_exchange_strong_explicit(&slot->state, &from, HELD, memory_order_acquire,
		memory_order_relaxed);
}

static void release_slot(struct slot *slot, int state)
{
	atomic_store_explicit(&slot->state, state, memory_order_release);
}

static void read_slot(const struct slot *slot, struct gmt_pool_info *ret_pool)
{
	ret_pool->handle = atomic_load_explicit(&slot->handle, memory_order_relaxed);
	ret_pool->device = atomic_load_explicit(&slot->device, memory_order_relaxed);
	ret_pool->origin = atomic_load_explicit(&slot->origin, memory_order_relaxed);
	ret_pool->is_managed = atomic_load_explicit(&slot->is_managed, memory_order_relaxed);
}

static struct slot *find(uint64_t handle)
{
	for (unsigned i = 0; handle && i < GMT_POOLS_MAX; i++)
		if (atomic_load_explicit(&slots[i].state, memory_order_acquire) != FREE &&
			atomic_load_explicit(&slots[i].handle, memory_order_relaxed) == handle)
			return &slots[i];
	return NULL;
}

void gmt_known_pools_add(const struct gmt_pool_info *pool)
{
	if (find(pool->handle))
		return;
	for (unsigned i = 0; i < GMT_POOLS_MAX; i++) {
		if (!hold_slot(&slots[i], FREE))
			continue;
		atomic_store_explicit(&slots[i].handle, pool->handle, memory_order_relaxed);
		atomic_store_explicit(&slots[i].device, pool->device, memory_order_relaxed);
		atomic_store_explicit(&slots[i].origin, pool->origin, memory_order_relaxed);
		atomic_store_explicit(&slots[i].is_managed, pool->is_managed, memory_order_relaxed);
		release_slot(&slots[i], READY);
		return;
	}
}

bool gmt_known_pools_remove(uint64_t handle, struct gmt_pool_info *ret_pool)
{
	struct slot *slot = find(handle);
	struct gmt_bounded_wait wait = gmt_bounded_wait_begin(gmt_config_wait_ns(WAIT_NS));
	uint64_t expected = handle;

	while (slot && !hold_slot(slot, READY)) {
		if (!gmt_bounded_wait_rest(&wait)) {
			/* The driver does not answer the thread that holds the slot. No thread asks again. */
			read_slot(slot, ret_pool);
			ret_pool->handle = handle;
			return atomic_compare_exchange_strong(&slot->handle, &expected, 0);
		}
	}
	if (!slot)
		return false;
	read_slot(slot, ret_pool);
	/* Another pool may have taken this slot during the wait. */
	if (ret_pool->handle != handle) {
		release_slot(slot, READY);
		return false;
	}
	atomic_store_explicit(&slot->handle, 0, memory_order_relaxed);
	release_slot(slot, FREE);
	return true;
}

void gmt_known_pools_add_default(int device)
{
	struct gmt_pool_info pool = { .device = (int16_t)device, .origin = GMT_POOL_DEFAULT };
	uint64_t bit = (uint64_t)1 << (device & 63);

	/* If two threads come here, only one of them adds the pool. */
	if (atomic_load_explicit(&pools.known_defaults, memory_order_relaxed) & bit ||
		atomic_fetch_or_explicit(&pools.known_defaults, bit, memory_order_relaxed) & bit)
		return;
	pool.handle = gmt_driver_default_pool(device);
	if (pool.handle)
		gmt_known_pools_add(&pool);
}

/* Adds the default pool of every device. */
static void add_defaults(void)
{
	unsigned count = gmt_driver_device_count();

	for (unsigned device = 0; device < count && device < GMT_POOLS_DEVICES; device++)
		gmt_known_pools_add_default((int)device);
	atomic_store_explicit(&pools.knows_all_defaults, count != 0, memory_order_relaxed);
}

int gmt_known_pools_device_plus_1(uint64_t handle)
{
	const struct slot *slot = find(handle);
	int device;

	if (!slot && !atomic_load_explicit(&pools.knows_all_defaults, memory_order_relaxed)) {
		add_defaults();
		slot = find(handle);
	}
	device = slot ? atomic_load_explicit(&slot->device, memory_order_relaxed) : GMT_DEVICE_UNKNOWN;
	return device >= 0 ? device + 1 : device == GMT_DEVICE_HOST ? -1 : 0;
}

uint8_t gmt_known_pools_space(uint64_t handle)
{
	const struct slot *slot = find(handle);

	return slot && atomic_load_explicit(&slot->is_managed, memory_order_relaxed) ? GMT_SPACE_MANAGED
																				 : GMT_SPACE_POOL;
}

bool gmt_known_pools_hold(unsigned index, struct gmt_pool_info *ret_pool)
{
	struct slot *slot = &slots[index];

	if (!hold_slot(slot, READY))
		return false;
	read_slot(slot, ret_pool);
	if (ret_pool->handle)
		return true;
	release_slot(slot, FREE);
	return false;
}

void gmt_known_pools_release(unsigned index)
{
	release_slot(&slots[index], READY);
}

/* Resets the locks in the child of a fork. */
static void after_fork(void)
{
	for (unsigned i = 0; i < GMT_POOLS_MAX; i++)
		if (atomic_load_explicit(&slots[i].state, memory_order_relaxed) == HELD)
			release_slot(&slots[i], FREE);
}

GMT_AT_STAGE(after_fork, DRIVER, after_fork);
