/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_VMM_H
#define SIMCUDA_VMM_H

/*
 * Physical memory and its mappings. Physical memory is a stretch of a sparse file in memory, so that two
 * mappings of a handle show the same bytes. All of it lies in one file, whose offsets are never used
 * twice (there are 2^46 of them), except what was exported: that has a file of its own, which other
 * processes can map and whose open descriptions keep the memory alive.
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
	bool owns_file;          /* false: the file that all share */
	bool is_imported;        /* another process's: that one is charged */
	unsigned int references; /* handles that the program holds */
	unsigned int mappings;   /* of addresses, of array tiles, and bindings to multicast objects */
	struct sim_multicast *multicast; /* NULL: memory */
};

struct sim_mapping {
	struct sim_range range; /* first */
	struct sim_physical *physical;
	size_t offset_bytes;
	/* CU_MEM_ACCESS_FLAGS_PROT_* of each device, and last of the host. */
	unsigned char access[SIM_MAX_DEVICES + 1];
};

/* vmm.c */
/* The mapping that contains `address`; NULL when none does. */
struct sim_mapping *sim_mapping_at(uintptr_t address);
/* Whether mappings cover the range without a hole, beginning and ending with it. */
bool sim_mappings_cover(uintptr_t address, size_t size_bytes);
/* Has every mapping of `physical` show the file and offset that it has now. False: some do not. */
bool sim_mappings_renew(const struct sim_physical *physical);

/* physical.c */
bool sim_is_whole_units(size_t size_bytes);
/*
 * New physical memory, or room for a multicast object, with one reference and no charge. NULL when
 * memory or file offsets are short.
 */
struct sim_physical *sim_physical_new(size_t size_bytes);
/* The same, of a file that another process made; takes the descriptor over when it succeeds. */
struct sim_physical *sim_physical_new_imported(int file, size_t size_bytes);
/* What a handle names; NULL when it names nothing, or was released. */
struct sim_physical *sim_physical_find(CUmemGenericAllocationHandle handle);
/* What lives in the file of that identity, released or not; NULL when nothing does. */
struct sim_physical *sim_physical_find_file(const struct stat *identity);
/* Frees it, and says true, when neither handles, mappings nor exported descriptors are left. */
bool sim_physical_drop_if_unused(struct sim_physical *physical);

/* multicast.c */
/* A multicast object, for so many devices. NULL when memory is short. */
struct sim_multicast *sim_multicast_new(unsigned int device_count);
unsigned int sim_multicast_device_count(const struct sim_multicast *multicast);
/* Of another process, which knows whether all devices were added: do not ask for them here. */
void sim_multicast_set_complete(struct sim_multicast *multicast);
/* Unbinds all. */
void sim_multicast_free(struct sim_multicast *multicast);
void sim_multicast_list(struct sim_list *list, const struct sim_physical *physical);

/* shareable.c */
enum sim_share_kind {
	SIM_SHARE_MEMORY = 1,
	SIM_SHARE_MULTICAST,
	SIM_SHARE_POOL,
};

/* What an exported file says of itself, after the memory that it may hold. */
struct sim_share_note {
	uint64_t magic;
	uint64_t kind; /* enum sim_share_kind */
	uint64_t memory_bytes;
	int64_t process;
	uint64_t id; /* of a pool: which one of that process */
	uint64_t device_count; /* of a multicast object */
	CUmemAllocationProp properties;
};

/* A file with room for `memory_bytes` and the note. -1: no descriptor or memory left. */
int sim_share_open(const struct sim_share_note *note);
/* Another descriptor of the file, for the program. -1: none left. */
int sim_share_duplicate(int file);
/* Reads the note of such a file; false for any other one. */
bool sim_share_read(int file, struct sim_share_note *ret_note);
/*
 * Whether somebody besides us has the file open. Only the number of its open descriptions tells: one is
 * ours, and each descriptor that was exported is another, wherever it was sent.
 */
bool sim_file_is_open_elsewhere(int file);

#endif
