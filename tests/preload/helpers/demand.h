/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_DEMAND_H
#define GMT_TESTS_DEMAND_H

/* For tests with many threads, in which cmocka's assertions do not work. Needs _GNU_SOURCE. */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the test with `what` on stderr unless the condition holds. */
static inline void demand(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	abort();
}

#endif
