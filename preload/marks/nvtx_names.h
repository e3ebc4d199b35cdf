/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_NVTX_NAMES_H
#define GMT_MARKS_NVTX_NAMES_H

/*
 * The names that NVTX knows by handles: domains and registered strings. Kept for ever in a store of a
 * fixed size; what does not fit has no name. Any thread; no lock, no memory.
 */

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { GMT_NVTX_NAME_BYTES = 256 }; /* with its NUL; longer ones are cut */

/* `wide` (may be NULL) as UTF-8; what is no character becomes U+FFFD. Returns `to`. */
const char *gmt_nvtx_narrow(const wchar_t *wide, char to[GMT_NVTX_NAME_BYTES]);

/* A handle for a name (may be NULL): equal names have equal ones. Never NULL. */
void *gmt_nvtx_handle(const char *name);

/* Another tool gave this handle for a name: keeps that in mind. */
void gmt_nvtx_learn(const void *handle, const char *name);

/* The name behind a handle of either kind; "" when it is not known. */
const char *gmt_nvtx_name(const void *handle);

/* A message of NVTX's, of that type, as text: itself, or UTF-8 in `room`. NULL when it has none. */
const char *gmt_nvtx_text(int32_t type, const void *message, char room[GMT_NVTX_NAME_BYTES]);

/* A name with that of its domain before it, where that has one. */
struct gmt_nvtx_full_name {
	const char *text; /* NULL: none */
	size_t length;    /* as much as decides where a mark's name is cut */
	char room[2 * GMT_NVTX_NAME_BYTES + 4];
};

/* `text` (may be NULL) is borrowed. */
void gmt_nvtx_full_name_init(struct gmt_nvtx_full_name *ret_name, const void *domain, const char *text);

#endif
