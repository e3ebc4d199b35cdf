/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_EH_FRAME_H
#define GMT_UNWIND_EH_FRAME_H

/*
 * Reads the unwind tables of a loaded object for x86-64: .eh_frame_hdr and .eh_frame, as the Linux
 * Standard Base and DWARF describe them. It supports the rules that gmt_unwind_rule can express.
 *
 * The code reads only the given tables, allocates no memory, and calls no function outside this
 * file except memcpy. For damaged tables it returns GMT_UNWIND_NONE or a wrong rule. It never reads
 * outside the tables.
 */

#include <stdint.h>

#include "unwind/unwind_rule.h"

/*
 * The unwind tables of an object. Both sections lie in one readable piece of memory, [start, end).
 * All values are addresses in this process.
 */
struct gmt_eh_frame {
	uint64_t start, end;
	uint64_t header; /* address of .eh_frame_hdr */
};

/*
 * Returns the unwind rule at `address`. `address` is the address of a call, one byte before its
 * return address. Returns GMT_UNWIND_NONE if no table describes the address, or if the table holds
 * something that no compiler writes for a call.
 */
struct gmt_unwind_rule gmt_eh_frame_rule(const struct gmt_eh_frame *tables, uint64_t address);

#endif
