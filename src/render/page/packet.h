/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_PAGE_PACKET_H
#define GMT_RENDER_PAGE_PACKET_H

/*
 * Packets of the page's data (docs/internals/page-data.md): a header in JSON and columns of
 * integers, compressed, as base64 text in a script element.
 *
 *   gmt_packet_column(&packet, "step.%s", "index");  gmt_packet_put(&packet, 0);  ...
 *   gmt_packet_begin_header(&packet);     then write the keys of the header to packet.json
 *   gmt_packet_write(&packet, file, "recording-0")
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "containers/vec.h"
#include "render/json.h"

struct gmt_packet_column {
	char name[40];
	char less[40]; /* the column from which the numbers are subtracted; "": no such column */
	uint64_t offset, bytes, count;
	uint64_t unit; /* divides all numbers */
	bool is_differences; /* each number is the difference from the previous number */
};

/* Initialise with zeros. */
struct gmt_packet {
	GMT_VEC(struct gmt_packet_column) columns;
	GMT_VEC(uint8_t) bytes; /* of the columns before the last */
	GMT_VEC(int64_t) numbers; /* of the last column */
	struct gmt_json json; /* the header, an open object */
	char *header; /* open_memstream's */
	size_t header_bytes;
	bool has_failed; /* out of memory, or the file failed */
};

/* Begins the next column. */
void gmt_packet_column(struct gmt_packet *packet, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Adds a number to the column. Numbers beyond 2^53, which JavaScript cannot represent, become 2^53.
 */
void gmt_packet_put(struct gmt_packet *packet, uint64_t value);
void gmt_packet_put_signed(struct gmt_packet *packet, int64_t value);

/*
 * Names the column, an earlier one of the packet, from which the current column is subtracted. The
 * arguments are those of gmt_packet_column.
 */
void gmt_packet_subtracted_from(struct gmt_packet *packet, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Adds a number to a column with gmt_packet_subtracted_from. `minuend` is the number of the earlier
 * column.
 */
void gmt_packet_put_subtracted(struct gmt_packet *packet, uint64_t minuend, uint64_t value);

/* Begins the header. */
void gmt_packet_begin_header(struct gmt_packet *packet);

/*
 * Ends the header and writes the element with this id to `file`. Frees the packet. Returns false
 * when out of memory; then the element is incomplete.
 */
bool gmt_packet_write(struct gmt_packet *packet, FILE *file, const char *id);

#endif
