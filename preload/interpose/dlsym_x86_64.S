/* SPDX-License-Identifier: MIT */
/*
 * void *dlsym(void *handle, const char *name)
 * void *dlvsym(void *handle, const char *name, const char *version)
 *
 * Ask the filter; without an answer jump where it says, with the stack as it came and the arguments
 * that it left, so that the next one sees our caller as its own.
 */
#if defined(__x86_64__)
	.macro	look_up name, is_versioned
	.globl	\name, gmt_wrap_\name
	.hidden	gmt_wrap_\name
	.type	\name, @function
	.p2align 4
\name:
gmt_wrap_\name:
	.cfi_startproc
	endbr64
	pushq	%rdx			/* version; what dlsym's callers left there */
	.cfi_adjust_cfa_offset 8
	pushq	%rsi			/* name */
	.cfi_adjust_cfa_offset 8
	pushq	%rdi			/* handle: together a struct gmt_dlsym_request */
	.cfi_adjust_cfa_offset 8
	movq	%rsp, %rdi		/* the stack is aligned to 16 here */
	movq	24(%rsp), %rsi		/* return address: who asks */
	movl	$\is_versioned, %edx
	call	gmt_dlsym_filter
	movq	%rdx, %rcx		/* rax: address, rcx: answered */
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	testq	%rcx, %rcx
	jnz	1f
	testq	%rax, %rax		/* nowhere to go: NULL, which rax is */
	jz	1f
	jmp	*%rax
1:	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
	look_up	dlsym, 0
	look_up	dlvsym, 1
	.hidden	gmt_dlsym_filter
	.section .note.GNU-stack, "", @progbits
#endif
