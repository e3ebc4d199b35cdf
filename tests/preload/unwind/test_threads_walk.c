/* SPDX-License-Identifier: MIT */
/*
 * Walk and rules under ThreadSanitizer. Threads open, walk through and close shared libraries,
 * which replace each other at the same addresses with other frame sizes. No access may race, and no
 * walk may use a rule of an unloaded library.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../helpers/demand.h"
#include "unwind/stack_bounds.h"
#include "unwind/rule_cache.h"
#include "unwind/walk.h"

enum { THREADS = 4, OPENINGS = 250, WALKS = 4, DEPTHS = 5, LIMIT = 64 };

static char **libraries;
static unsigned library_count;
static __thread struct gmt_walk *walk;
static __thread unsigned seed, left, count;
static __thread uint64_t noted[2 * DEPTHS]; /* return addresses of the functions, outermost first */
static __thread int (*walked)(int (*back)(void *where));
static _Atomic unsigned taken, spliced, refused, unloaded;

__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);

/* Ignores the loader's own memory: ThreadSanitizer does not see the loader's locks. */
const char *__tsan_default_suppressions(void)
{
	return "called_from_lib:ld-linux\n";
}

static unsigned any(unsigned limit)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % limit;
}

/* Begins a walk the same way as gmt_native_capture. */
__attribute__((noinline)) static bool walk_here(void)
{
	const uint64_t *frame = __builtin_frame_address(0);
	struct gmt_walk_start start = { .ip = frame[1], .sp = (uint64_t)(frame + 2), .fp = frame[0] };

	return gmt_walk_capture(walk, &start, LIMIT);
}

static inline __attribute__((always_inline)) void check_walk(void)
{
	if (!walk_here()) {
		atomic_fetch_add(&refused, 1);
		return;
	}
	atomic_fetch_add(&taken, 1);
	atomic_fetch_add(&spliced, walk->is_known);
	demand(gmt_walk_count(walk) > count, "frames are missing");
	for (unsigned i = 1; i <= count; i++)
		demand(walk->addresses[walk->host_begin + i] == noted[count - i], "a frame is another one");
}

/* The library calls this back and passes its own return address. */
__attribute__((noinline)) static int descend(void *where)
{
	unsigned before = count;

	noted[count++] = (uint64_t)where;
	noted[count++] = (uint64_t)__builtin_return_address(0);
	if (left) {
		left--;
		walked(descend);
	} else {
		/* At least two rounds have one call site, even if the compiler peels the first. */
		for (volatile int again = 0; again < 3; again++)
			check_walk();
	}
	count = before;
	return 0;
}

static int read_unloaded(struct dl_phdr_info *info, size_t size, void *ret_count)
{
	(void)size;
	*(unsigned long long *)ret_count = info->dlpi_subs;
	return 1;
}

static unsigned long long unload_count(void)
{
	unsigned long long subtractions = 0;

	dl_iterate_phdr(read_unloaded, &subtractions);
	return subtractions;
}

/* Closes a library the same way as lifecycle/dlclose.c. */
static void close_library(void *library)
{
	unsigned long long before = unload_count();

	gmt_rule_cache_pause();
	dlclose(library);

	bool was_unloaded = unload_count() != before;

	gmt_rule_cache_resume(was_unloaded);
	atomic_fetch_add(&unloaded, was_unloaded);
}

static bool is_enough(void)
{
	return taken > THREADS * OPENINGS && spliced > OPENINGS / 10 && unloaded > OPENINGS / 10;
}

static void *open_and_close(void *number)
{
	walk = calloc(1, sizeof(*walk));
	demand(walk != NULL, "no memory");
	gmt_walk_init(walk);
	seed = (unsigned)(uintptr_t)number;
	/* While a thread stands still between a pause and its resume, all other walks are refused. */
	for (int i = 0; i < OPENINGS || !is_enough(); i++) {
		void *library = dlopen(libraries[any(library_count)], RTLD_NOW | RTLD_LOCAL);

		demand(library != NULL, "a library cannot be opened");
		*(void **)&walked = dlsym(library, "walked");
		for (int j = 0; j < WALKS; j++) {
			left = any(DEPTHS);
			walked(descend);
		}
		close_library(library);
	}
	free(walk);
	return NULL;
}

static void *find(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

int main(int argument_count, char **arguments)
{
	pthread_t threads[THREADS];

#ifndef __x86_64__
	return 77; /* the walk uses unwind tables on x86-64 only */
#endif
	libraries = arguments + 1;
	library_count = (unsigned)argument_count - 1;
	gmt_stack_bounds_init();
	gmt_stack_bounds_find_end(find);
	gmt_rule_cache_init(find);
	for (uintptr_t i = 0; i < THREADS; i++)
		demand(!pthread_create(&threads[i], NULL, open_and_close, (void *)(i + 1)), "no thread");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%u stacks, %u of them as before, %u while a library went; %u unloadings\n", taken,
		spliced, refused, unloaded);
	demand(is_enough(), "too little has happened");
	return 0;
}
