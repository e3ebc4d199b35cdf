/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_DLMOPEN_NAMESPACES_H
#define GMT_INTERPOSE_DLMOPEN_NAMESPACES_H

/*
 * Libraries in dlmopen namespaces. No preload reaches them, and each namespace may have its own
 * driver. The optional audit library (audit/audit.c) reports the objects that are loaded there, and
 * asks for the recorder's wrappers. This file stores the objects and the drivers of each namespace.
 * Without the audit library, no other namespace is known.
 *
 * Any thread. No function takes a lock or allocates memory, except gmt_namespaces_pin.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/hidden.h"
#include "hooks/hooks.h"

/* Whether another namespace has a driver. */
extern GMT_HIDDEN _Atomic bool gmt_namespaces_are_used;

/*
 * Returns the original function of `hook` for a caller in another namespace; NULL for a caller in
 * the program's own namespace.
 */
void *gmt_namespaces_original(enum gmt_hook hook, const void *caller);

/*
 * Returns the original function of `hook` in any other namespace, or NULL. For a call whose caller
 * is unknown.
 */
void *gmt_namespaces_any_original(enum gmt_hook hook);

/* Returns whether an address is in an object of another namespace. */
bool gmt_namespaces_contain(const void *address);

/*
 * Returns a handle of the driver in another namespace that contains `function`, or NULL. The handle
 * stays open for ever.
 */
void *gmt_namespaces_pin(const void *function);

/* From now on, the audit library gets wrappers. Call it when the constructor has finished. */
void gmt_namespaces_allow_wrappers(void);

#endif
