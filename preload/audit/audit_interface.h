/* SPDX-License-Identifier: MIT */
#ifndef GMT_AUDIT_AUDIT_INTERFACE_H
#define GMT_AUDIT_AUDIT_INTERFACE_H

/*
 * What libgpumemtrace.so exports for libgpumemtrace-audit.so, which is in a namespace of its own and has
 * another C library: the two share nothing but these calls. They are made by the loader's thread, under
 * its lock, while objects come, are bound and go.
 */

#include <stdint.h>

#define GMT_AUDIT_OBJECT "gpumemtrace_audit_object"
#define GMT_AUDIT_BIND "gpumemtrace_audit_bind"

/* An object of namespace `space` (LM_ID_BASE is 0) at these addresses was loaded; or is gone. */
typedef void gmt_audit_object(long space, uint64_t start, uint64_t end, int is_gone);

struct gmt_audit_binding {
	long space;
	const char *symbol;
	uint64_t driver_base;    /* of the driver that defines it */
	const void *driver_dynamic;
	const char *driver_path; /* copied where it is needed for longer */
};

/* Our wrapper, which the caller shall be bound to; NULL: leave it. */
typedef void *gmt_audit_bind(const struct gmt_audit_binding *binding);

#endif
