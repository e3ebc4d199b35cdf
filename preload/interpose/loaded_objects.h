/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_LOADED_OBJECTS_H
#define GMT_INTERPOSE_LOADED_OBJECTS_H

/*
 * Finds the loaded object of an address. Reads the loader's list under the loader's own short lock.
 * Allocates nothing. Any thread; not for the hot path.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/text_without_calls.h"
#include "runtime/hidden.h"

enum { GMT_OBJECT_PATH_BYTES = 1024 };

struct gmt_object {
	uint64_t start;  /* lowest mapped address */
	uint64_t end;    /* after the highest mapped address */
	bool is_program; /* the executable itself: its scope is the global scope */
	/*
	 * Position in the loader's list. While a program starts, this is the order of the global scope
	 */
	uint32_t order;
	char path[GMT_OBJECT_PATH_BYTES]; /* the loader's name for it; "" for the program */
};

struct dl_phdr_info;

/*
 * Calls dl_iterate_phdr, in one thread of the process at a time. dl_iterate_phdr takes a loader
 * lock that glibc does not reset in the child of a fork. Therefore a fork waits until no thread is
 * in a visit (gmt_objects_block_visits).
 */
void gmt_objects_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *argument),
	void *argument);

/*
 * Surround a fork. gmt_objects_block_visits waits until no thread is in a visit, for a bounded
 * time, and blocks further visits.
 */
void gmt_objects_block_visits(void);
void gmt_objects_allow_visits(void);

/* Finds the object that contains `address`. Returns false if no loaded object contains it. */
bool gmt_object_find(const void *address, struct gmt_object *ret_object);

/* For gmt_object_self: the recorder's library; `end` is 0 before the first search. */
extern GMT_HIDDEN struct gmt_object gmt_object_own;
void gmt_object_find_own(void);

/* Returns the recorder's own library. The constructor makes the first call. */
static inline const struct gmt_object *gmt_object_self(void)
{
	/* The constructor runs before there is a second thread. */
	if (__builtin_expect(!gmt_object_own.end, 0))
		gmt_object_find_own();
	return &gmt_object_own;
}

/* Returns whether an address is in the recorder's own library. */
static inline bool gmt_object_self_has(uint64_t address)
{
	return address >= gmt_object_self()->start && address < gmt_object_self()->end;
}

#endif
