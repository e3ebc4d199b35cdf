/* SPDX-License-Identifier: MIT */
#ifndef GMT_FUZZ_ROWS_H
#define GMT_FUZZ_ROWS_H

/*
 * The payload of a block as a table of encoded cells. So a mutation can change one cell, and all
 * other cells keep their meaning. Supports one table at a time, and one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/format.h"

enum { FUZZ_ROWS = 2048, FUZZ_BYTES = 1 << 20 };

/* Borrowed bytes: of the payload, or of a mutation. */
struct fuzz_cell {
	const uint8_t *at;
	size_t length;
};

struct fuzz_table {
	const struct gmt_record_info *record;
	uint32_t rows, columns;
	struct fuzz_cell cells[FUZZ_ROWS][GMT_RECORD_MAX_FIELDS];
};

/* Reads a payload. Returns false if it does not decode, or is too long for `ret_table`. */
bool fuzz_table_read(struct fuzz_table *ret_table, uint32_t kind, uint32_t rows,
	const uint8_t *payload, size_t size);

/* Writes the payload of the table. Returns its length, or 0 if it does not fit into `bytes`. */
size_t fuzz_table_write(const struct fuzz_table *table, uint8_t *ret_payload, size_t bytes);

#endif
