/* SPDX-License-Identifier: MIT */
/*
 * Replaces a framework's library in tests of merged stacks. Built with line numbers, as
 * libframework-fake.so.
 */
#include "fake_frames.h"

uint64_t fake_operator(void)
{
	uint64_t address = return_address_in_caller();

	__asm__ volatile("" : "+r"(address));
	return address;
}

static inline __attribute__((always_inline)) uint64_t fake_inlined(void)
{
	uint64_t address = return_address_in_caller(); /* FAKE_INLINED_LINE */

	__asm__ volatile("" : "+r"(address));
	return address;
}

uint64_t fake_outer(void)
{
	uint64_t address = fake_inlined(); /* FAKE_OUTER_LINE */

	__asm__ volatile("" : "+r"(address));
	return address;
}
