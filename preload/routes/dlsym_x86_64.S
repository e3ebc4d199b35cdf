/* SPDX-License-Identifier: MIT */
/*
 * void *dlsym(void *handle, const char *name): ask the filter; without an answer jump to the real
 * one with stack and registers as they came, so that it sees our caller as its own.
 */
#if defined(__x86_64__)
	.text
	.globl	dlsym
	.type	dlsym, @function
	.p2align 4
dlsym:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp		/* the stack is aligned to 16 at the call */
	.cfi_adjust_cfa_offset 8
	movq	24(%rsp), %rdx		/* return address: who asks */
	call	gmt_dlsym_filter
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testq	%rdx, %rdx		/* rax: address, rdx: answered */
	jz	1f
	ret
1:	movq	gmt_dlsym_next(%rip), %rax
	testq	%rax, %rax
	jz	2f
	jmp	*%rax
2:	ret				/* no real dlsym: NULL, which rax is */
	.cfi_endproc
	.size	dlsym, . - dlsym
	.hidden	gmt_dlsym_filter
	.hidden	gmt_dlsym_next
	.section .note.GNU-stack, "", @progbits
#endif
