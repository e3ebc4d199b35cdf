/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_FILE_GZIP_H
#define GMT_FORMAT_FILE_GZIP_H

/*
 * Compresses bytes into one gzip stream, which the caller receives piece by piece. Unlike a sink,
 * it has no file. One thread.
 */

#include <stdbool.h>
#include <stddef.h>

struct gmt_gzip;

/* Receives bytes of the stream. Returns false to stop. */
typedef bool gmt_gzip_receive(void *user, const unsigned char *bytes, size_t length);

/*
 * Begins a stream. `level` is zlib's level, 1 to 9. Returns NULL when out of memory. End it with
 * gmt_gzip_close.
 */
struct gmt_gzip *gmt_gzip_open(int level, gmt_gzip_receive *receive, void *user);

/* Adds bytes. Returns false if `receive` did. */
bool gmt_gzip_write(struct gmt_gzip *gzip, const void *bytes, size_t length);

/* Ends the stream and frees it. Returns false if `receive` ever did. */
bool gmt_gzip_close(struct gmt_gzip *gzip);

#endif
