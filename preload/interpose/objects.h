/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_OBJECTS_H
#define GMT_INTERPOSE_OBJECTS_H

/*
 * Which loaded object an address belongs to. Reads the loader's list under the loader's own short
 * lock, allocates nothing. Any thread; not for the hot path.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/hidden.h"

enum { GMT_OBJECT_PATH_BYTES = 1024 };

struct gmt_object {
	uint64_t start;  /* lowest mapped address */
	uint64_t end;    /* behind the highest */
	bool is_program; /* the executable itself: its scope is the global one */
	uint32_t order;  /* in the loader's list, which is the order of the global scope while a program starts */
	char path[GMT_OBJECT_PATH_BYTES]; /* as the loader names it; "" for the program */
};

struct dl_phdr_info;

/*
 * dl_iterate_phdr, by one of our threads at a time: it takes a lock of the loader that glibc does not
 * reset in the child of a fork, so a fork waits until nobody of us is in it (gmt_objects_hold).
 */
void gmt_objects_visit(int (*look)(struct dl_phdr_info *info, size_t size, void *argument), void *argument);

/* Keeps all visits out, or gives up after a bounded wait; and lets them in again. Around a fork. */
void gmt_objects_hold(void);
void gmt_objects_release(void);

/* False when no loaded object holds `address`. */
bool gmt_object_of(const void *address, struct gmt_object *ret_object);

/* For gmt_object_self: this library, once it was looked for. */
extern GMT_HIDDEN struct gmt_object gmt_object_own;
void gmt_object_find_own(void);

/* The address range of this library itself. First called from the constructor. */
static inline const struct gmt_object *gmt_object_self(void)
{
	/* The constructor comes first, before there is a second thread. */
	if (__builtin_expect(!gmt_object_own.end, 0))
		gmt_object_find_own();
	return &gmt_object_own;
}

/*
 * dlsym is called by the runtimes of sanitizers while they set themselves up, when no function of theirs may
 * be called yet, strcmp for one. What stands on that path compares text by these, which call nothing.
 */
#define GMT_NO_CALLS __attribute__((optimize("no-tree-loop-distribute-patterns")))

bool gmt_same_text(const char *a, const char *b);

/* The last part of `path`. */
const char *gmt_path_name(const char *path);

/* Whether the last part of `path` begins with `prefix`: "libcuda.so", "libcudart.so". */
bool gmt_path_names(const char *path, const char *prefix);

#endif
