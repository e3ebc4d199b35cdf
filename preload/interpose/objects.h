/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_OBJECTS_H
#define GMT_INTERPOSE_OBJECTS_H

/*
 * Finds the loaded object of an address. Reads the loader's list under the loader's own short lock.
 * Allocates nothing. Any thread; not for the hot path.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/call_free_text.h"
#include "runtime/hidden.h"

enum { GMT_OBJECT_PATH_BYTES = 1024 };

struct gmt_object {
	uint64_t start;  /* lowest mapped address */
	uint64_t end;    /* after the highest mapped address */
	bool is_program; /* the executable itself: its scope is the global scope */
	/*
	 * position in the loader's list; while a program starts, this is the order of the global scope
	 */
	uint32_t order;
	char path[GMT_OBJECT_PATH_BYTES]; /* the loader's name for it; "" for the program */
};

struct dl_phdr_info;

/*
 * Calls dl_iterate_phdr, in one thread of the process at a time. It takes a loader lock that glibc
 * does not reset in the child of a fork. Therefore a fork waits until no thread is in it
 * (gmt_objects_hold).
 */
void gmt_objects_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *argument),
	void *argument);

/*
 * Around a fork: gmt_objects_hold blocks all visits, or gives up after a bounded wait;
 * gmt_objects_release allows them again.
 */
void gmt_objects_hold(void);
void gmt_objects_release(void);

/* Finds the object that contains `address`. Returns false if no loaded object contains it. */
bool gmt_object_of(const void *address, struct gmt_object *ret_object);

/* For gmt_object_self: this library, after the first search. */
extern GMT_HIDDEN struct gmt_object gmt_object_own;
void gmt_object_find_own(void);

/* Returns the address range of this library itself. The first call comes from the constructor. */
static inline const struct gmt_object *gmt_object_self(void)
{
	/* The constructor runs before there is a second thread. */
	if (__builtin_expect(!gmt_object_own.end, 0))
		gmt_object_find_own();
	return &gmt_object_own;
}

/* Returns whether an address belongs to this library itself. */
static inline bool gmt_object_self_has(uint64_t address)
{
	return address >= gmt_object_self()->start && address < gmt_object_self()->end;
}

#endif
