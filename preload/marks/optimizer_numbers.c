/* SPDX-License-Identifier: MIT */
#include "marks/optimizer_numbers.h"

#include <stddef.h>

#include "marks/interpreter.h"

/*
 * Few programs have more optimizers at one time. In such a program, the optimizers that were seen
 * first get new numbers.
 */
enum { MAX_KNOWN = 64 };

static struct known {
	void *optimizer; /* its address; NULL: free */
	void *reference; /* a weak reference */
	uint64_t number;
	uint64_t steps;   /* number of calls for this optimizer */
} known[MAX_KNOWN];

static struct {
	uint64_t last_number;
	unsigned next_row;
} number;

/*
 * Returns whether the optimizer of this entry still exists, and therefore still has this address.
 */
static bool is_alive(const struct known *row)
{
	void *object = gmt_interpreter.call(row->reference, NULL);
	bool is_same = object == row->optimizer;

	if (object)
		gmt_interpreter.dec_ref(object);
	else
		gmt_interpreter.clear_error();
	return is_same;
}

uint64_t gmt_optimizer_number(void *optimizer, uint64_t *ret_steps)
{
	struct known *row = NULL;
	void *reference;

	for (unsigned i = 0; i < MAX_KNOWN && !row; i++)
		if (known[i].optimizer == optimizer)
			row = &known[i];
	*ret_steps = 0;
	if (row && is_alive(row)) {
		*ret_steps = ++row->steps;
		return row->number;
	}
	reference = gmt_interpreter.weak_reference(optimizer, NULL);
	if (!reference) {
		gmt_interpreter.clear_error();
		return (uint64_t)(uintptr_t)optimizer;
	}
	if (!row)
		row = &known[number.next_row++ % MAX_KNOWN];
	if (row->reference)
		gmt_interpreter.dec_ref(row->reference);
	*row = (struct known){ optimizer, reference, ++number.last_number, 1 };
	*ret_steps = row->steps;
	return row->number;
}
