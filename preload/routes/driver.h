/* SPDX-License-Identifier: MIT */
#ifndef GMT_ROUTES_DRIVER_H
#define GMT_ROUTES_DRIVER_H

/*
 * The one libcuda of this process: where its functions are, and the few questions that the recorder
 * itself asks it. None of those questions invalidates a stream capture, none needs memory, and none is
 * asked while the process exits.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * Learns the driver from the address of any function in it: pins the library, finds all hooked
 * functions and the ones below. Idempotent and cheap after the first time; never inside dlsym.
 */
void gmt_driver_learn(const void *function);

/* In the child of a fork: who was learning is not there any more. */
void gmt_driver_reset_locks(void);

/* Whether `function` is exactly where the driver exports something that has no row in hooks.def. */
bool gmt_driver_exports_unhooked(const void *function);

/* The hook that the driver exports at this address, or GMT_HOOK_NONE. */
unsigned gmt_driver_hook_at(const void *function);

/*
 * Ordinal of the device that a call on `stream` (0: the default one) concerns in this thread, or
 * GMT_DEVICE_UNKNOWN.
 */
int gmt_driver_device(uint64_t stream);

struct gmt_driver_device_info {
	char name[128];
	char uuid[48]; /* GPU-... */
	uint64_t total_bytes;
};

/*
 * What the driver says is free, and is there in all, on the device of this thread's current context. False,
 * and nothing set, when that is not `device`: another device would need a context of its own.
 */
bool gmt_driver_memory(int device, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes);

/* How many devices there are; 0 when the driver does not say. */
unsigned gmt_driver_device_count(void);

/* Fills what the driver says of a device; false when it does not. */
bool gmt_driver_device_info(unsigned ordinal, struct gmt_driver_device_info *ret_info);

#endif
