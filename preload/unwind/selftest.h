/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_SELFTEST_H
#define GMT_UNWIND_SELFTEST_H

/*
 * Counts the results of the option `selftest` for one kind of stack. No lock, no memory; any thread
 * may call it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Zero-initialised: no stack was compared. */
struct gmt_selftest {
	_Atomic uint64_t compared, different;
};

static inline void gmt_selftest_count(struct gmt_selftest *selftest, bool is_different)
{
	atomic_fetch_add_explicit(&selftest->compared, 1, memory_order_relaxed);
	if (is_different)
		atomic_fetch_add_explicit(&selftest->different, 1, memory_order_relaxed);
}

/*
 * Writes a line for a note in the recording. `what` says which stacks were compared with what.
 * Returns false if no stack was compared.
 */
static inline bool gmt_selftest_report(const struct gmt_selftest *selftest, const char *what,
	char *ret_text, uint32_t bytes)
{
	unsigned long long compared = atomic_load(&selftest->compared);

	if (!compared)
		return false;
	snprintf(ret_text, bytes, "selftest: %llu %s, %llu differ", compared, what,
		(unsigned long long)atomic_load(&selftest->different));
	return true;
}

#endif
