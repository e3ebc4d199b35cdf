/* SPDX-License-Identifier: MIT */
#ifndef GMT_FUZZ_CONTENT_H
#define GMT_FUZZ_CONTENT_H

/*
 * What a snapshot holds inside gzip, as the fuzz targets get it: a file header and blocks.
 * Checksums are put right and the compression is left out, so that no mutation is lost on them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_PATH_BYTES = 64 };

/*
 * A target that does a part for each input, to be fast, does all: for main.c's kept inputs. False
 * at first.
 */
extern bool fuzz_is_thorough;

/* Puts header, lengths and checksums right, as far as the content has the shape of blocks. */
void fuzz_repair(uint8_t *content, size_t size);

/* Likewise for blocks without a file header. */
void fuzz_repair_blocks(uint8_t *blocks, size_t size);

/*
 * Writes `bytes` to a file in memory, the same one each time for the same `slot` (0 or 1);
 * `ret_path` opens it. Ends the process when there is no memory.
 */
void fuzz_store_file(unsigned slot, const uint8_t *bytes, size_t size,
	char ret_path[FUZZ_PATH_BYTES]);

/* The same for content, as gzip that is stored only. `content` is repaired. */
void fuzz_store(unsigned slot, uint8_t *content, size_t size, char ret_path[FUZZ_PATH_BYTES]);

/*
 * A copy of the input with a NUL behind it, from malloc. Ends the process when there is no memory.
 */
uint8_t *fuzz_copy(const uint8_t *data, size_t size);

#endif
