/* SPDX-License-Identifier: MIT */
/*
 * Reads the rules of this program's own unwind tables, which the assembler makes, and damaged
 * tables.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "unwind/eh_frame.h"

#ifdef __x86_64__
enum { PAGE = 4096, DAMAGES = 3000, QUERIES = 40 };

__asm__(
	".text\n"
	".globl table_plain, table_pushed, table_framed, table_popped, table_after\n"
	".globl table_end, table_expression, table_undefined\n"
	".globl table_signal, table_odd_return, table_odd_pointer, table_other_register\n"
	".globl table_deep, table_pointer_expression\n"
	".globl table_plain_signal, table_far_frame, table_aligned, table_far_aligned, "
	"table_saved_aligned\n"
	"plain: .cfi_startproc\n"
	"table_plain: nop\n pushq %rbp\n .cfi_def_cfa_offset 16\n .cfi_offset 6, -16\n"
	"table_pushed: nop\n movq %rsp, %rbp\n .cfi_def_cfa_register 6\n"
	"table_framed: nop\n .cfi_remember_state\n popq %rbp\n .cfi_def_cfa 7, 8\n .cfi_restore 6\n"
	"table_popped: nop\n .cfi_restore_state\n"
	"table_after: nop\n .cfi_endproc\n"
	"end: .cfi_startproc\n .cfi_undefined 16\n"
	"table_end: nop\n .cfi_endproc\n"
	/* CFA = what is at rbp - 8 */
	"expression: .cfi_startproc\n .cfi_escape 0x0f, 0x03, 0x76, 0x78, 0x06\n"
	"table_expression: nop\n .cfi_endproc\n"
	"undefined: .cfi_startproc\n .cfi_undefined 6\n"
	"table_undefined: nop\n .cfi_endproc\n"
	"nop\n"
	"signal: .cfi_startproc\n .cfi_signal_frame\n .cfi_escape 0x0f, 0x04, 0x77, 0xa0, 0x01, 0x06\n"
	"table_signal: nop\n .cfi_endproc\n"
	"odd_return: .cfi_startproc\n .cfi_offset 16, -16\n"
	"table_odd_return: nop\n .cfi_endproc\n"
	"odd_pointer: .cfi_startproc\n .cfi_offset 7, -16\n"
	"table_odd_pointer: nop\n .cfi_endproc\n"
	"other_register: .cfi_startproc\n .cfi_def_cfa_register 3\n"
	"table_other_register: nop\n .cfi_endproc\n"
	"pointer_expression: .cfi_startproc\n .cfi_escape 0x10, 0x06, 0x02, 0x77, 0x10\n"
	" .cfi_escape 0x10, 0x03, 0x02, 0x77, 0x08\n"
	"table_pointer_expression: nop\n .cfi_endproc\n"
	"plain_signal: .cfi_startproc\n .cfi_signal_frame\n"
	"table_plain_signal: nop\n .cfi_endproc\n"
	"far_frame: .cfi_startproc\n .cfi_def_cfa_offset 4194304\n"
	"table_far_frame: nop\n .cfi_endproc\n"
	"aligned: .cfi_startproc\n .cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00\n"
	" .cfi_escape 0x0f, 0x03, 0x76, 0x58, 0x06\n"
	"table_aligned: nop\n .cfi_endproc\n" /* as gcc writes it: CFA = what is at rbp - 40 */
	"far_aligned: .cfi_startproc\n .cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00\n"
	" .cfi_escape 0x0f, 0x03, 0x76, 0x08, 0x06\n"
	"table_far_aligned: nop\n .cfi_endproc\n" /* above it */
	"saved_aligned: .cfi_startproc\n .cfi_offset 6, -16\n .cfi_escape 0x0f, 0x03, 0x76, 0x58, "
	"0x06\n"
	"table_saved_aligned: nop\n .cfi_endproc\n"
	"deep: .cfi_startproc\n .cfi_def_cfa_offset 80000\n .cfi_offset 3, -24\n .cfi_offset 6, -32\n"
	"table_deep: nop\n .cfi_endproc\n");

extern char table_plain[], table_pushed[], table_framed[], table_popped[], table_after[],
	table_end[], table_expression[], table_undefined[], table_signal[], table_odd_return[],
	table_odd_pointer[], table_other_register[], table_deep[], table_pointer_expression[],
	table_plain_signal[], table_far_frame[], table_aligned[], table_far_aligned[],
	table_saved_aligned[];

static struct gmt_eh_frame own;

static int find_own(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			own.header = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
			own.header - start < info->dlpi_phdr[i].p_filesz) {
			own.start = start;
			own.end = start + info->dlpi_phdr[i].p_filesz;
		}
	}
	return 1;
}

static void check(const char *at, unsigned kind, unsigned cfa_words, unsigned saved_words)
{
	struct gmt_unwind_rule rule = gmt_eh_frame_rule(&own, (uint64_t)at);

	assert_int_equal(rule.kind, kind);
	assert_int_equal(rule.cfa_words, cfa_words);
	assert_int_equal(rule.saved_words, saved_words);
}

static void each_instruction_of_a_function_has_its_rule(void **state)
{
	(void)state;
	check(table_plain, GMT_UNWIND_BY_SP, 1, 0);
	check(table_pushed, GMT_UNWIND_BY_SP, 2, 2);
	check(table_framed, GMT_UNWIND_BY_FP, 2, 2);
	check(table_popped, GMT_UNWIND_BY_SP, 1, 0);
	check(table_after, GMT_UNWIND_BY_FP, 2, 2);
	check(table_deep, GMT_UNWIND_BY_SP, 10000, 4);
	check(table_end, GMT_UNWIND_END, 0, 0);
	check(table_aligned, GMT_UNWIND_BY_WORD, 5, 0);
}

static void code_without_a_known_rule_is_left_to_the_other_unwinder_only_for_signals(void **state)
{
	(void)state;
	const char *const nothing[] = { table_expression, table_undefined, table_undefined + 1,
		table_odd_return, table_odd_pointer, table_other_register, table_pointer_expression,
		table_plain_signal, table_far_frame, table_far_aligned, table_saved_aligned, NULL,
		(const char *)UINTPTR_MAX };

	check(table_signal, GMT_UNWIND_OTHER, 0, 0);
	for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
		check(nothing[i], GMT_UNWIND_NONE, 0, 0);
}

/*
 * Copies the tables between two inaccessible pages. The functions' addresses move by the same
 * distance.
 */
static struct gmt_eh_frame copy_between_guards(char **ret_copy)
{
	size_t bytes = own.end - own.start, buffer = (bytes + PAGE - 1) / PAGE * PAGE;
	char *pages = mmap(NULL, buffer + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_int_equal(mprotect(pages + PAGE, buffer, PROT_READ | PROT_WRITE), 0);
	*ret_copy = pages + PAGE + buffer - bytes;
	memcpy(*ret_copy, (const void *)own.start, bytes);
	return (struct gmt_eh_frame){ (uint64_t)*ret_copy, (uint64_t)*ret_copy + bytes,
		own.header - own.start + (uint64_t)*ret_copy };
}

static void damaged_tables_are_not_read_beyond_their_end(void **state)
{
	(void)state;
	char *copy;
	struct gmt_eh_frame tables = copy_between_guards(&copy);
	size_t bytes = own.end - own.start, header = own.header - own.start, simple = 0;
	uint64_t distance = (uint64_t)copy - own.start;

	assert_int_equal(gmt_eh_frame_rule(&tables, (uint64_t)table_framed + distance).kind,
		GMT_UNWIND_BY_FP);
	srand(1);
	for (int round = 0; round < DAMAGES; round++) {
		size_t from = rand() % 4 ? header : 0;

		for (int i = rand() % 12; i >= 0; i--)
			copy[from + (size_t)rand() % (bytes - from)] = (char)(rand() % 3 ? rand()
					: rand() % 2                                             ? 0xff
																			 : 0x7f);
		for (int i = 0; i < QUERIES; i++)
			simple += gmt_eh_frame_rule(&tables,
						  (uint64_t)table_plain + distance - 2000 + (uint64_t)rand() % 4000)
						  .kind <= GMT_UNWIND_BY_FP;
		if (rand() % 3 == 0)
			memcpy(copy, (const void *)own.start, bytes);
	}
	assert_true(simple > 0);
	/* The tables may be cut anywhere. */
	memcpy(copy, (const void *)own.start, bytes);
	for (size_t cut = 0; cut < bytes - header; cut++) {
		struct gmt_eh_frame shorter = tables;

		memmove(copy + cut, (const void *)own.start, bytes - cut);
		shorter.header += cut;
		gmt_eh_frame_rule(&shorter, (uint64_t)table_framed + distance + cut);
	}
}

static void a_rule_is_packed_and_unpacked_unchanged(void **state)
{
	(void)state;
	for (unsigned kind = GMT_UNWIND_BY_SP; kind <= GMT_UNWIND_BY_WORD; kind++)
		for (unsigned words = 0; words <= GMT_UNWIND_CFA_WORDS; words += 257) {
			struct gmt_unwind_rule rule = { (uint8_t)kind, (uint8_t)(words % 256), words };
			uint32_t packed = gmt_unwind_rule_pack(rule);
			/* In a cache entry, a part of a tag stands above the rule. */
			struct gmt_unwind_rule back =
				gmt_unwind_rule_unpack(packed | (uint32_t)words << GMT_UNWIND_RULE_BITS);

			assert_true(packed && packed < 1u << GMT_UNWIND_RULE_BITS);
			assert_int_equal(back.kind, rule.kind);
			assert_int_equal(back.saved_words, rule.saved_words);
			assert_int_equal(back.cfa_words, rule.cfa_words);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction_of_a_function_has_its_rule),
		cmocka_unit_test(code_without_a_known_rule_is_left_to_the_other_unwinder_only_for_signals),
		cmocka_unit_test(damaged_tables_are_not_read_beyond_their_end),
		cmocka_unit_test(a_rule_is_packed_and_unpacked_unchanged),
	};

	dl_iterate_phdr(find_own, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	return 77; /* stacks are walked by tables on x86-64 only */
}
#endif
