/* SPDX-License-Identifier: MIT */
/* The same as dlsym_x86_64.S, for AArch64: verdict in x0 (address) and x1 (answered). */
#if defined(__aarch64__)
	.text
	.globl	dlsym
	.type	dlsym, %function
	.p2align 4
dlsym:
	.cfi_startproc
	hint	#34			/* bti c */
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	mov	x2, x30			/* return address: who asks */
	bl	gmt_dlsym_filter
	cbz	x1, 1f
	ldp	x29, x30, [sp], #32
	.cfi_remember_state
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	ret
1:	.cfi_restore_state
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_restore 29
	.cfi_restore 30
	.cfi_def_cfa_offset 0
	adrp	x16, gmt_dlsym_next
	ldr	x16, [x16, :lo12:gmt_dlsym_next]
	cbz	x16, 2f
	br	x16
2:	mov	x0, xzr			/* no real dlsym: NULL */
	ret
	.cfi_endproc
	.size	dlsym, . - dlsym
	.hidden	gmt_dlsym_filter
	.hidden	gmt_dlsym_next
	.section .note.GNU-stack, "", %progbits
#endif
