/* SPDX-License-Identifier: MIT */
#ifndef DRIVER_FACTS_H
#define DRIVER_FACTS_H

/* Translates the live things of the simulated driver to the blocks that a recording must have. */

#include <stdbool.h>
#include <stdint.h>

#include "checkpoint.h"

#define ANY_BYTES UINT64_MAX
#define ANY_DEVICE INT16_MIN

/* A block, as the driver or the replay says. */
struct fact {
	uint64_t address; /* or handle */
	uint64_t bytes, most_bytes; /* what is possible */
	uint32_t references; /* 0: of no matter */
	int16_t device;
	uint8_t space;
};

/* Items of one checkpoint. */
struct items {
	struct simcuda_item *list;
	uint64_t count;
};

/* Converts an item. Returns false if the recorder does not record such an item. */
bool fact_of(const struct items *items, const struct simcuda_item *item, struct fact *ret_fact);

#endif
