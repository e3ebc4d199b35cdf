/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_UNWIND_RULE_H
#define GMT_UNWIND_UNWIND_RULE_H

/*
 * An unwind rule: how to get from a return address to the caller's frame. It covers nearly all
 * frames:
 *
 * - The canonical frame address (CFA) is the stack pointer or the frame pointer plus a constant.
 * - The return address lies right below the CFA.
 * - The caller's frame pointer lies at a constant place in the frame, or is still in its register.
 *
 * Offsets are whole words. Code that keeps frame pointers has the same rule everywhere, on x86-64
 * and on AArch64: GMT_UNWIND_FRAMED_WORDS.
 */

#include <stdint.h>

enum gmt_unwind_kind {
	GMT_UNWIND_UNKNOWN, /* the rule was not looked up yet */
	GMT_UNWIND_BY_SP,   /* CFA = stack pointer + cfa_words */
	GMT_UNWIND_BY_FP,   /* CFA = frame pointer + cfa_words */
	GMT_UNWIND_END,     /* the outermost frame, which has no caller */
	/*
	 * libunwind must unwind the frame: the kernel made it for a signal, or the recorder does not
	 * know where the tables are.
	 */
	GMT_UNWIND_OTHER,
	/*
	 * No table describes the address, or the table is implausible. libunwind must not unwind the
	 * frame, because it would trust the table.
	 */
	GMT_UNWIND_NONE,
	/*
	 * CFA = the word at frame pointer - cfa_words; the caller's frame pointer is at frame pointer.
	 */
	GMT_UNWIND_BY_WORD,
};

/* A rule; saved_words does not apply to GMT_UNWIND_BY_WORD and GMT_UNWIND_END. */
struct gmt_unwind_rule {
	uint8_t kind;        /* enum gmt_unwind_kind */
	/* The caller's frame pointer lies so many words below the CFA; 0: it is in its register. */
	uint8_t saved_words;
	uint32_t cfa_words;  /* at most GMT_UNWIND_CFA_WORDS */
};

/* A frame has at most GMT_UNWIND_CFA_WORDS words, which is half of a usual stack. */
enum { GMT_UNWIND_WORD_BYTES = 8, GMT_UNWIND_RULE_BITS = 30, GMT_UNWIND_CFA_WORDS = (1 << 19) - 1 };

/*
 * The frame pointer points to the caller's frame pointer. The return address lies right above it.
 */
enum { GMT_UNWIND_FRAMED_WORDS = 2 };

/* Packs a rule into GMT_UNWIND_RULE_BITS bits; gmt_unwind_rule_unpack is the inverse. */
static inline uint32_t gmt_unwind_rule_pack(struct gmt_unwind_rule rule)
{
	return rule.cfa_words << 11 | (uint32_t)rule.saved_words << 3 | rule.kind;
}

static inline struct gmt_unwind_rule gmt_unwind_rule_unpack(uint32_t packed)
{
	return (struct gmt_unwind_rule){
		.kind = packed & 7,
		.saved_words = (uint8_t)(packed >> 3),
		.cfa_words = packed >> 11 & GMT_UNWIND_CFA_WORDS,
	};
}

#endif
