/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_CHECKPOINT_H
#define GMT_TESTS_CHECKPOINT_H

/*
 * What random-calls writes and compare-accounting reads: for each checkpoint this, and then its items.
 */

#include <stdint.h>

#include "../../simcuda/driver/accounting.h"

struct checkpoint {
	uint64_t
		number; /* from 1; the mark before which all of it happened is called "checkpoint NUMBER" */
	uint64_t calls; /* made until then */
	uint64_t count; /* of items */
};

#endif
