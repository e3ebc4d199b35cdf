/* SPDX-License-Identifier: MIT */
/* Same as dlsym_x86_64.S, for AArch64. The verdict is in x0 (address) and x1 (answered). */
#if defined(__aarch64__)
	.macro	look_up name, is_versioned
	.globl	\name, gmt_wrap_\name
	.hidden	gmt_wrap_\name
	.type	\name, %function
	.p2align 4
\name:
gmt_wrap_\name:
	.cfi_startproc
	hint	#34			/* bti c */
	stp	x29, x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset 29, -48
	.cfi_offset 30, -40
	mov	x29, sp
	stp	x0, x1, [sp, #16]	/* handle and name, */
	str	x2, [sp, #32]		/* version: together a struct gmt_dlsym_request */
	add	x0, sp, #16
	mov	x1, x30			/* return address: the caller */
	mov	w2, #\is_versioned
	bl	gmt_dlsym_filter
	cbnz	x1, 1f
	cbz	x0, 1f			/* no jump target: return NULL, which is in x0 */
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldr	x2, [sp, #32]
	ldp	x29, x30, [sp], #48
	.cfi_remember_state
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	br	x16
1:	.cfi_restore_state
	ldp	x29, x30, [sp], #48
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
	look_up	dlsym, 0
	look_up	dlvsym, 1
	.hidden	gmt_dlsym_filter
	.section .note.GNU-stack, "", %progbits
#endif
