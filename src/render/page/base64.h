/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_PAGE_BASE64_H
#define GMT_RENDER_PAGE_BASE64_H

/* Writes bytes as base64 text (RFC 4648), piece by piece. */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Initialise with zeros, then set `file`. */
struct gmt_base64 {
	FILE *file;
	unsigned char rest[3]; /* bytes that do not make a group of three yet */
	unsigned rest_count;
};

/* Adds bytes; `user` is a struct gmt_base64. Returns true (gmt_gzip_receive). */
bool gmt_base64_take(void *user, const unsigned char *bytes, size_t length);

/* Writes the last group. */
void gmt_base64_end(struct gmt_base64 *base64);

#endif
