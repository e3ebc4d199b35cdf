/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_SYMBOLS_H
#define GMT_INTERPOSE_SYMBOLS_H

/*
 * Looks names up in loaded objects by reading their hash tables, without the loader. dlsym and dlopen
 * take a lock that another thread may hold while constructors run; a hook that waited for it could
 * deadlock with a host that holds its own allocator's lock. Any thread; allocates nothing; not for the
 * hot path.
 */

#include <link.h>

#include "interpose/objects.h"

/* What is needed of an object's dynamic section. Good for as long as the object is loaded. */
struct gmt_symbol_tables {
	uint64_t base;
	const ElfW(Dyn) *dynamic;
	const ElfW(Sym) *symbols;
	const char *names;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const char *soname; /* NULL: it has none */
};

/* False for an object without a dynamic section or without symbols. */
bool gmt_symbol_tables_read(const struct dl_phdr_info *info, struct gmt_symbol_tables *ret_tables);

/* The same by where an object and its dynamic section are. */
bool gmt_symbol_tables_read_at(uint64_t base, const void *dynamic, struct gmt_symbol_tables *ret_tables);

/*
 * Calls `visit` with each definition of `symbol` in one object (several versions of a name are several)
 * until it returns other than 0; returns that, or 0.
 */
int gmt_symbol_visit(const struct gmt_symbol_tables *tables, const char *symbol,
	int (*visit)(const ElfW(Sym) *entry, void *argument), void *argument);

/* Whether the object defines `symbol` itself, or only refers to it: it was linked to somebody else's. */
bool gmt_symbol_is_defined_by(const struct gmt_object *object, const char *symbol);
bool gmt_symbol_is_wanted_by(const struct gmt_object *object, const char *symbol);

/*
 * `symbol` in the object of that soname, or NULL. What is found is what its table says at the moment,
 * which may be one of our wrappers (interpose/dynsym.h).
 */
void *gmt_symbol_in_library(const char *soname, const char *symbol);

/*
 * `symbol` as the object would find it in its own scope, the global one aside: in itself and in what it
 * was linked to. NULL when there is none. This library's own exports do not count.
 */
void *gmt_symbol_in_scope_of(const struct gmt_object *object, const char *symbol);

/*
 * `symbol` in any loaded object whose file name begins with one of `prefixes` (ended by NULL; NULL
 * itself: any object), in the order of loading.
 */
void *gmt_symbol_in(const char *const *prefixes, const char *symbol);

#endif
