/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_NAMESPACES_H
#define GMT_INTERPOSE_NAMESPACES_H

/*
 * Libraries in namespaces of dlmopen: no preload reaches them, and each namespace may have a driver of its
 * own. The optional audit library (audit/audit.c) tells of what is loaded there and asks for our wrappers; here is
 * noted which driver belongs to which caller. Without the audit library nothing here is ever true.
 *
 * Any thread. Nothing here takes a lock or memory, but for gmt_namespaces_pin.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/hidden.h"
#include "hooks/hooks.h"

/* Whether there is one with a driver; without the audit library there never is. */
extern GMT_HIDDEN _Atomic bool gmt_namespaces_are_used;

/* The real function of `hook` for a caller in another namespace; NULL for one in ours. */
void *gmt_namespaces_real(enum gmt_hook hook, const void *caller);

/* That of any namespace, for a call whose caller cannot be told; or NULL. */
void *gmt_namespaces_any(enum gmt_hook hook);

/* Whether an address lies in an object of another namespace. */
bool gmt_namespaces_has(const void *address);

/* A handle of the driver in another namespace that `function` is of, kept open for ever; or NULL. */
void *gmt_namespaces_pin(const void *function);

/* From now on the wrappers may be given out: the constructor is through. */
void gmt_namespaces_open(void);

#endif
