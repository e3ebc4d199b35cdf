/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_UNWIND_RULE_H
#define GMT_UNWIND_UNWIND_RULE_H

/*
 * How to get from a return address to the caller's frame, for the frames that nearly all are: the canonical
 * frame address (CFA) is the stack or the frame pointer plus a constant, the return address lies right below it, and
 * the caller's frame pointer is at a constant place in the frame or still in its register. Offsets are whole words.
 *
 * Code that keeps frame pointers has one such rule throughout, on x86-64 and on AArch64: GMT_UNWIND_FRAMED_WORDS.
 */

#include <stdint.h>

enum gmt_unwind_kind {
	GMT_UNWIND_UNKNOWN, /* nobody has looked */
	GMT_UNWIND_BY_SP,   /* CFA = stack pointer + cfa_words */
	GMT_UNWIND_BY_FP,   /* CFA = frame pointer + cfa_words */
	GMT_UNWIND_END,     /* the outermost frame: it returns to nowhere */
	GMT_UNWIND_OTHER,   /* the kernel made it, for a signal: for libunwind */
	GMT_UNWIND_NONE,    /* no table says, or only what nobody writes: not for libunwind, which would believe it */
	GMT_UNWIND_BY_WORD, /* CFA = the word cfa_words below where the frame pointer points; there is the caller's */
};

struct gmt_unwind_rule {
	uint8_t kind;        /* enum gmt_unwind_kind */
	uint8_t saved_words; /* the caller's frame pointer is that far below the CFA; 0: in its register */
	uint32_t cfa_words;  /* at most GMT_UNWIND_CFA_WORDS */
};

/* No frame is larger than half of a usual stack. */
enum { GMT_UNWIND_WORD_BYTES = 8, GMT_UNWIND_RULE_BITS = 30, GMT_UNWIND_CFA_WORDS = (1 << 19) - 1 };

/* The caller's frame pointer is where the frame pointer points, and where to return to right above it. */
enum { GMT_UNWIND_FRAMED_WORDS = 2 };

/* A rule in GMT_UNWIND_RULE_BITS bits, and back. */
static inline uint32_t gmt_unwind_rule_pack(struct gmt_unwind_rule rule)
{
	return rule.cfa_words << 11 | (uint32_t)rule.saved_words << 3 | rule.kind;
}

static inline struct gmt_unwind_rule gmt_unwind_rule_unpack(uint32_t packed)
{
	return (struct gmt_unwind_rule){
		.kind = packed & 7, .saved_words = (uint8_t)(packed >> 3), .cfa_words = packed >> 11 & GMT_UNWIND_CFA_WORDS,
	};
}

#endif
