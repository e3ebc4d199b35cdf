/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_ELF_SYMBOLS_H
#define GMT_INTERPOSE_ELF_SYMBOLS_H

/*
 * Looks up names in loaded objects by reading their hash tables, without the loader. dlsym and
 * dlopen take a lock that another thread may hold while constructors run. If a hook waited for that
 * lock, it could deadlock with a host that holds its own allocator's lock. Any thread; allocates
 * nothing; not for the hot path.
 */

#include <stdbool.h>

#include "interpose/loaded_objects.h"

/* Return whether the object itself defines `symbol`, or refers to another object's definition. */
bool gmt_elf_symbol_is_defined_by(const struct gmt_object *object, const char *symbol);
bool gmt_elf_symbol_is_referenced_by(const struct gmt_object *object, const char *symbol);

/*
 * Returns `symbol` in the object with that soname, or NULL. The result is the current value in the
 * object's table, which may be a wrapper (interpose/patch_dynsym.h).
 */
void *gmt_elf_symbol_in_library(const char *soname, const char *symbol);

/*
 * Returns `symbol` as the object would find it in its own scope: in itself and in its dependencies,
 * but not in the global scope. Returns NULL if `symbol` is not there. Ignores the recorder's
 * exports.
 */
void *gmt_elf_symbol_in_scope_of(const struct gmt_object *object, const char *symbol);

/*
 * Returns `symbol` in the first loaded object, in load order, whose file name begins with one of
 * `prefixes`. NULL ends `prefixes`; if `prefixes` itself is NULL, any object matches.
 */
void *gmt_elf_symbol_in_objects(const char *const *prefixes, const char *symbol);

#endif
