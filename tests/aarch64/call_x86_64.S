/* SPDX-License-Identifier: MIT */
/*
 * void *call_watched(void *(*function)(void *, const char *), void *handle, const char *name,
 *                    uint64_t kept[KEPT]): calls function(handle, name) with known values in all
 * registers that a function must keep, and stores in `kept` what it found in them afterwards: rbx,
 * r12 to r15, rbp, and how far the stack pointer was off.
 */
#if defined(__x86_64__)
	.text
	.globl	call_watched
	.type	call_watched, @function
call_watched:
	endbr64
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	pushq	%rcx			/* kept */
	subq	$16, %rsp		/* aligned to 16 at the call */
	movq	%rsp, 8(%rsp)
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	$0x1001, %rbx
	movq	$0x1002, %r12
	movq	$0x1003, %r13
	movq	$0x1004, %r14
	movq	$0x1005, %r15
	movq	$0x1006, %rbp
	call	*%rax
	movq	16(%rsp), %rcx
	movq	%rbx, 0(%rcx)
	movq	%r12, 8(%rcx)
	movq	%r13, 16(%rcx)
	movq	%r14, 24(%rcx)
	movq	%r15, 32(%rcx)
	movq	%rbp, 40(%rcx)
	movq	%rsp, %rdx
	subq	8(%rsp), %rdx
	movq	%rdx, 48(%rcx)
	movq	8(%rsp), %rsp
	addq	$24, %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	ret
	.size	call_watched, . - call_watched
	.section .note.GNU-stack, "", @progbits
#endif
