/* SPDX-License-Identifier: MIT */
/*
 * void *dlsym(void *handle, const char *name)
 * void *dlvsym(void *handle, const char *name, const char *version)
 *
 * Calls the filter. If the filter has no answer, jumps to the function that it names. The stack is
 * as at entry, and the arguments are those that the filter left. So the next function sees the
 * caller of dlsym as its own caller.
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
	pushq	%rdx			/* version; for dlsym, whatever its caller left in rdx */
	.cfi_adjust_cfa_offset 8
	pushq	%rsi			/* name */
	.cfi_adjust_cfa_offset 8
	pushq	%rdi			/* handle: together a struct gmt_dlsym_request */
	.cfi_adjust_cfa_offset 8
	movq	%rsp, %rdi		/* the stack is aligned to 16 here */
	movq	24(%rsp), %rsi		/* return address: the caller */
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
	testq	%rax, %rax		/* no jump target: return NULL, which is in rax */
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
