/* SPDX-License-Identifier: MIT */
/*
 * void gmt_recorder_stack_switch(void *top, void (*work)(void *argument), void *argument)
 *
 * Calls work(argument) with the stack pointer at `top`, then restores the caller's stack pointer
 * and returns. The frame pointer refers to the caller's frame, so unwinders can cross from one
 * stack to the other.
 */
#if defined(__x86_64__)
	.text
	.globl	gmt_recorder_stack_switch
	.hidden	gmt_recorder_stack_switch
	.type	gmt_recorder_stack_switch, @function
	.p2align 4
gmt_recorder_stack_switch:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq	%rdi, %rsp
	movq	%rdx, %rdi
	call	*%rsi
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	gmt_recorder_stack_switch, . - gmt_recorder_stack_switch
#elif defined(__aarch64__)
	.text
	.globl	gmt_recorder_stack_switch
	.hidden	gmt_recorder_stack_switch
	.type	gmt_recorder_stack_switch, %function
	.p2align 4
gmt_recorder_stack_switch:
	.cfi_startproc
	hint	34			/* bti c */
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	mov	sp, x0
	mov	x0, x2
	blr	x1
	mov	sp, x29
	.cfi_def_cfa_register sp
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	gmt_recorder_stack_switch, . - gmt_recorder_stack_switch
#endif
#if defined(__ELF__)
	.section .note.GNU-stack, "", %progbits
#endif
