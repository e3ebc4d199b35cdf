/* SPDX-License-Identifier: MIT */
#ifndef GMT_AUDIT_AUDIT_INTERFACE_H
#define GMT_AUDIT_AUDIT_INTERFACE_H

/*
 * The functions that libgpumemtrace.so exports for libgpumemtrace-audit.so. The audit library is in
 * its own namespace and has another C library, so the two libraries share only these calls. The
 * loader's thread makes the calls, under the loader's lock, while objects are loaded, bound and
 * unloaded.
 */

#include <stdint.h>

#define GMT_AUDIT_OBJECT "gpumemtrace_audit_object"
#define GMT_AUDIT_BIND "gpumemtrace_audit_bind"

/*
 * Reports that an object of namespace `namespace_id` (LM_ID_BASE is 0) at these addresses was
 * loaded, or was unloaded (is_unloaded).
 */
typedef void gmt_audit_object(long namespace_id, uint64_t start, uint64_t end, int is_unloaded);

struct gmt_audit_binding {
	long namespace_id;
	const char *symbol;
	/* The driver that defines the symbol */
	uint64_t driver_base;
	const void *driver_dynamic; /* its dynamic section */
	const char *driver_path;    /* valid during the call */
};

/* Returns the recorder's wrapper for the symbol. Returns NULL if the binding must stay. */
typedef void *gmt_audit_bind(const struct gmt_audit_binding *binding);

#endif
