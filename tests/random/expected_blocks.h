/* SPDX-License-Identifier: MIT */
#ifndef EXPECTED_BLOCKS_H
#define EXPECTED_BLOCKS_H

/* Translates the live items of the simulated driver to the blocks that a recording must have. */

#include <stdbool.h>
#include <stdint.h>

#include "checkpoint.h"

#define ANY_BYTES UINT64_MAX
#define ANY_DEVICE INT16_MIN

/* A block of the driver or of the replay. */
struct live_block {
	uint64_t address; /* or handle */
	uint64_t min_bytes, max_bytes; /* equal if the size is known */
	uint32_t references; /* 0: not compared */
	int16_t device;
	uint8_t space;
};

/* Items of one checkpoint. */
struct checkpoint_items {
	struct simcuda_item *list;
	uint64_t count;
};

/* Converts an item. Returns false if the recorder does not record such an item. */
bool expected_block_of(const struct checkpoint_items *items, const struct simcuda_item *item,
	struct live_block *ret_block);

#endif
