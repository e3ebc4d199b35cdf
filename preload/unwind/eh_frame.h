/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_EH_FRAME_H
#define GMT_UNWIND_EH_FRAME_H

/*
 * Reads the unwind tables of a loaded object (.eh_frame_hdr and .eh_frame, as the Linux Standard Base and DWARF
 * describe them), as far as gmt_unwind_rule goes, for x86-64. Pure: no memory, no call, no look outside of what it is
 * given, so damaged tables give GMT_UNWIND_NONE or a wrong rule, never a wild read.
 */

#include <stdint.h>

#include "unwind/unwind_rule.h"

/* Both parts lie in one readable piece of memory, [start, end); all are addresses in this process. */
struct gmt_eh_frame {
	uint64_t start, end;
	uint64_t header; /* of .eh_frame_hdr */
};

/*
 * The rule at `address`, the address of a call (one byte before where it returns to): GMT_UNWIND_NONE where no table is about
 * it, or what stands there is what nobody writes about a call.
 */
struct gmt_unwind_rule gmt_eh_frame_rule(const struct gmt_eh_frame *tables, uint64_t address);

#endif
