/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_CHECKPOINT_H
#define GMT_TESTS_CHECKPOINT_H

/*
 * random-calls writes these records, and compare-accounting reads them. Each checkpoint has this
 * structure, followed by its items.
 */

#include <stdint.h>

#include "../../simcuda/driver/accounting.h"

struct checkpoint {
	uint64_t
		number; /* from 1; the mark before which all of it happened is called "checkpoint NUMBER" */
	uint64_t calls; /* number of calls until the checkpoint */
	uint64_t count; /* of items */
};

#endif
