/* SPDX-License-Identifier: MIT */
#ifndef GMT_ROUTES_SYMBOLS_H
#define GMT_ROUTES_SYMBOLS_H

/*
 * Looks names up in loaded objects by reading their hash tables, without the loader. dlsym and dlopen
 * take a lock that another thread may hold while constructors run; a hook that waited for it could
 * deadlock with a host that holds its own allocator's lock. Any thread; allocates nothing; not for the
 * hot path.
 */

#include "routes/objects.h"

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
