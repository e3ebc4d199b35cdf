/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_CHECKPOINT_H
#define GMT_TESTS_CHECKPOINT_H

/*
 * random-calls writes these records, and compare-accounting reads them. A checkpoint is this
 * structure, followed by `count` items (struct simcuda_item).
 */

#include <stdint.h>

#include "../../simcuda/driver/accounting.h"

struct checkpoint {
	uint64_t number; /* from 1; the recording has a mark "checkpoint NUMBER" at this moment */
	uint64_t calls;  /* number of calls until the checkpoint */
	uint64_t count;  /* number of items */
};

#endif
