/* SPDX-License-Identifier: MIT */
#ifndef GMT_FUZZ_CONTENT_H
#define GMT_FUZZ_CONTENT_H

/*
 * The input of the fuzz targets is the content of a recording without gzip: a file header and
 * blocks. The functions below correct checksums and skip compression. Otherwise most mutations
 * would only break these.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_PATH_BYTES = 64 };

/*
 * For speed, a target usually does only a part of its checks for each input. If true, it does all
 * of them: main.c sets this for its kept inputs. Initially false.
 */
extern bool fuzz_is_thorough;

/* Corrects header, lengths and checksums, as far as the content has the shape of blocks. */
void fuzz_repair(uint8_t *content, size_t size);

/* Same as fuzz_repair, for blocks without a file header. */
void fuzz_repair_blocks(uint8_t *blocks, size_t size);

/*
 * Writes `bytes` to a file in memory. Each `slot` (0 or 1) has one file, which every call reuses.
 * Returns its path in `ret_path`. Ends the process when there is no memory.
 */
void fuzz_store_file(unsigned slot, const uint8_t *bytes, size_t size,
	char ret_path[FUZZ_PATH_BYTES]);

/* Repairs `content` and writes it to the file as gzip without compression. */
void fuzz_store(unsigned slot, uint8_t *content, size_t size, char ret_path[FUZZ_PATH_BYTES]);

/*
 * Returns a copy of the input, from malloc, with a NUL at its end. Ends the process when there is
 * no memory.
 */
uint8_t *fuzz_copy(const uint8_t *data, size_t size);

#endif
