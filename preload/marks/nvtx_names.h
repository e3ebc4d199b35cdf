/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_NVTX_NAMES_H
#define GMT_MARKS_NVTX_NAMES_H

/*
 * The names that NVTX identifies by handles: domains and registered strings. They are kept for the
 * whole process in a store of fixed size. A name that does not fit is lost. Any thread; no lock, no
 * allocation.
 */

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { GMT_NVTX_NAME_BYTES = 256 }; /* including the NUL; longer names are cut */

/* Converts `wide` (may be NULL) to UTF-8. Each invalid character becomes U+FFFD. Returns `to`. */
const char *gmt_nvtx_to_utf8(const wchar_t *wide, char to[GMT_NVTX_NAME_BYTES]);

/* Returns a handle for a name (may be NULL). Equal names have equal handles. Never NULL. */
void *gmt_nvtx_handle(const char *name);

/* Remembers the handle that another tool gave for a name. */
void gmt_nvtx_register_handle(const void *handle, const char *name);

/* Returns the name for a handle of either kind, or "" if it is unknown. */
const char *gmt_nvtx_name(const void *handle);

/*
 * Returns the text of an NVTX message of that type: the message itself, or its UTF-8 form in
 * `buffer`. Returns NULL if the message has no text.
 */
const char *gmt_nvtx_text(int32_t type, const void *message, char buffer[GMT_NVTX_NAME_BYTES]);

/* A name, preceded by the name of its domain if the domain has one. */
struct gmt_nvtx_full_name {
	const char *text; /* NULL: no name */
	size_t length;    /* at most GMT_MARK_NAME_BYTES + 1 */
	char buffer[2 * GMT_NVTX_NAME_BYTES + 4];
};

/* `text` (may be NULL) is borrowed. */
void gmt_nvtx_full_name_init(struct gmt_nvtx_full_name *ret_name, const void *domain,
	const char *text);

#endif
