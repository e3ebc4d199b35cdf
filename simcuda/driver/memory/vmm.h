/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_VMM_H
#define SIMCUDA_VMM_H

/*
 * Physical memory and its mappings. Physical memory is a part of a sparse in-memory file, so two
 * mappings of a handle show the same bytes. All physical memory lies in one shared file, except
 * exported memory. Offsets in the shared file are never used twice; there are 2^46 of them.
 * Exported memory has its own file: other processes can map it, and its open file descriptions keep
 * the memory alive.
 *
 * The caller holds the lock.
 */

#include <sys/stat.h>

#include "driver.h"

struct sim_multicast;

struct sim_physical {
	struct sim_physical *next;
	uint64_t id;
	struct sim_device *device; /* NULL: host memory, or a multicast object */
	CUmemAllocationProp properties;
	size_t size_bytes;
	size_t charged_bytes;
	int file;
	off_t file_offset;
	bool owns_file;          /* false: memory is in the shared file */
	bool is_imported;        /* memory of another process, which is charged for it */
	unsigned int references; /* number of handles that the program holds */
	unsigned int mappings;   /* number of address mappings, array tiles and multicast bindings */
	struct sim_multicast *multicast; /* NULL: ordinary memory */
};

struct sim_mapping {
	struct sim_range range; /* must be first */
	struct sim_physical *physical;
	size_t offset_bytes;
	/* CU_MEM_ACCESS_FLAGS_PROT_* of each device. The last entry is for the host. */
	unsigned char access[SIM_MAX_DEVICES + 1];
};

/* vmm.c */
/* Returns the mapping that contains `address`, or NULL. */
struct sim_mapping *sim_mapping_at(uintptr_t address);
/* Returns whether mappings cover the whole range without a hole, and begin and end with it. */
bool sim_mappings_cover(uintptr_t address, size_t size_bytes);
/*
 * Maps the current file and offset of `physical` at each of its mappings again. Returns false if
 * some of them failed.
 */
bool sim_mappings_renew(const struct sim_physical *physical);

/* physical_memory.c */
bool sim_is_whole_units(size_t size_bytes);
/*
 * Makes physical memory, or a file range for a multicast object, with one reference and no charge.
 * Returns NULL if memory or file offsets are short.
 */
struct sim_physical *sim_physical_new(size_t size_bytes);
/*
 * Does the same for a file that another process made. Takes ownership of the descriptor on success.
 */
struct sim_physical *sim_physical_new_imported(int file, size_t size_bytes);
/* Returns the memory of a handle, or NULL if the handle is unknown or released. */
struct sim_physical *sim_physical_find(CUmemGenericAllocationHandle handle);
/* Returns the memory that lives in this file, released or not, or NULL. */
struct sim_physical *sim_physical_find_file(const struct stat *identity);
/* Frees the memory if no handle, mapping or exported descriptor is left. Returns whether it did. */
bool sim_physical_drop_if_unused(struct sim_physical *physical);

/* multicast.c */
/* Makes a multicast object for `device_count` devices. Returns NULL if memory is short. */
struct sim_multicast *sim_multicast_new(unsigned int device_count);
unsigned int sim_multicast_device_count(const struct sim_multicast *multicast);
/*
 * For an imported multicast object: marks all devices as added. Only the exporting process knows
 * which devices were added.
 */
void sim_multicast_set_complete(struct sim_multicast *multicast);
/* Frees the object and removes its bindings. */
void sim_multicast_free(struct sim_multicast *multicast);
void sim_multicast_list(struct sim_list *list, const struct sim_physical *physical);

/* shareable_handle.c */
enum sim_share_kind {
	SIM_SHARE_MEMORY = 1,
	SIM_SHARE_MULTICAST,
	SIM_SHARE_POOL,
};

/* Describes what an exported file holds. Lies in the file, behind the memory if it has memory. */
struct sim_share_note {
	uint64_t magic;
	uint64_t kind; /* a value of enum sim_share_kind */
	uint64_t memory_bytes;
	int64_t process; /* that exported the file */
	uint64_t id; /* of a pool: its id in that process */
	uint64_t device_count; /* for a multicast object */
	CUmemAllocationProp properties;
};

/*
 * Checks the arguments of a function that exports or imports a handle: `ret_value` must not be
 * NULL, `flags` must be 0, and the only supported type is a file descriptor.
 */
CUresult sim_share_check(const void *ret_value, CUmemAllocationHandleType type,
	unsigned long long flags);

/*
 * Makes a file that has `memory_bytes` of memory, and the note behind it. Returns -1 if descriptors
 * or memory are short.
 */
int sim_share_open(const struct sim_share_note *note);
/* Opens another descriptor of the file, for the program. Returns -1 if descriptors are short. */
int sim_share_duplicate(int file);
/* Reads the note of an exported file. Returns false for any other file. */
bool sim_share_read(int file, struct sim_share_note *ret_note);
/*
 * Returns whether the file is open elsewhere. Only the number of open file descriptions can show
 * this. One is the driver's own. Each exported descriptor has another one, in whichever process it
 * is.
 */
bool sim_file_is_open_elsewhere(int file);

#endif
