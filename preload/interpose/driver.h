/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_DRIVER_H
#define GMT_INTERPOSE_DRIVER_H

/*
 * The one libcuda of this process: where its functions are, and the few questions that the recorder
 * itself asks it. None of those questions invalidates a stream capture, none needs memory, none is
 * asked while the process exits, and errno is as before.
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

/* The name of the library's export at exactly this address; NULL: there is none. */
const char *gmt_driver_export_name(const void *function);

/* Whether `function` is exactly where the driver exports something that has no row in hooks.def. */
bool gmt_driver_exports_unhooked(const void *function);

/* The hook that the driver exports at this address, or GMT_HOOK_NONE. */
unsigned gmt_driver_hook_at(const void *function);

/* Where a call happens. */
struct gmt_driver_place {
	int16_t device;   /* ordinal, or GMT_DEVICE_UNKNOWN */
	uint16_t context; /* its number (driver/contexts.h); 0 is not known */
};

/* Of a call on `stream` (0: the default one) in this thread. */
struct gmt_driver_place gmt_driver_place(uint64_t stream);

/* Handle of this thread's current context; 0 when it has none. */
uint64_t gmt_driver_context(void);

/* Whether calls on `stream` make nodes of a graph; false when the driver does not say. */
bool gmt_driver_is_capturing(uint64_t stream);

/* Whether the primary context of a device is there. */
bool gmt_driver_primary_is_active(int device);

/* Handle of a primary context that is there; 0 when it is not, or the driver does not say. */
uint64_t gmt_driver_primary(int device);

/* Handle of the context by which calls are made in a green context; 0 when the driver does not say. */
uint64_t gmt_driver_green_view(uint64_t green);

/* Ordinal of the device that has the memory behind a handle of cuMemCreate's kind; or GMT_DEVICE_UNKNOWN. */
int gmt_driver_device_of_handle(uint64_t handle);

/* Ordinal of the device that has the memory at `address`; GMT_DEVICE_UNKNOWN when the driver does not say. */
int gmt_driver_device_of(uint64_t address);

/* Handle of a device's default memory pool; 0 when the driver does not say. */
uint64_t gmt_driver_default_pool(int device);

/* Bytes behind `address` in its block; 0 when the driver does not say. */
uint64_t gmt_driver_range_bytes(uint64_t address);

struct gmt_driver_device_info {
	char name[128];
	char uuid[48]; /* GPU-... */
	char pci_bus_id[24]; /* "" when the driver does not say */
	uint64_t total_bytes;
};

/*
 * What the driver says is free, and is there in all, on the device of this thread's current context. False,
 * and nothing set, when that is not `device`: another device would need a context of its own.
 */
bool gmt_driver_memory(int device, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes);

/* Likewise, of whichever device is the current one; its ordinal, or GMT_DEVICE_UNKNOWN. */
int gmt_driver_current_memory(uint64_t *ret_free_bytes, uint64_t *ret_total_bytes);

/*
 * For a thread of ours: no call of it ever spoils a capture of another. False: it must not ask the
 * driver anything of the following.
 */
bool gmt_driver_relax(void);

/* Likewise, of the device of a context that does not end meanwhile; no context is this thread's afterwards. */
bool gmt_driver_memory_of(uint64_t context, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes);

/* What a memory pool says of itself. */
struct gmt_driver_pool {
	uint64_t reserved_bytes, used_bytes, reserved_high_bytes, used_high_bytes;
	uint64_t threshold_bytes; /* what it may keep at a synchronization */
};

/* Of a pool that does not end meanwhile; false when the driver does not say all of it. */
bool gmt_driver_pool(uint64_t pool, struct gmt_driver_pool *ret_pool);

/* What a device holds for graphs' memory nodes, and how much of that they use. */
bool gmt_driver_graph_memory(int device, uint64_t *ret_reserved_bytes, uint64_t *ret_used_bytes);

/*
 * Whose memory lies at `address`: a device's ordinal, GMT_DEVICE_HOST for all that is not a device's, or
 * GMT_DEVICE_UNKNOWN when the driver does not say.
 */
int16_t gmt_driver_holder_of(uint64_t address);

/* Functions that tell what is in a graph, which have CUDA's types. */
struct gmt_driver_graph_functions {
	void *get_nodes, *get_type, *get_alloc, *get_free, *get_child;
};

/* NULL when the driver has not all of them. */
const struct gmt_driver_graph_functions *gmt_driver_graph_functions(void);

/* How many devices there are; 0 when the driver does not say. */
unsigned gmt_driver_device_count(void);

/* Fills what the driver says of a device; false when it does not. */
bool gmt_driver_device_info(unsigned ordinal, struct gmt_driver_device_info *ret_info);

#endif
