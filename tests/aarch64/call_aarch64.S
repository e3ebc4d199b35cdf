/* SPDX-License-Identifier: MIT */
/*
 * The same as call_x86_64.S, for AArch64: x19 to x28, the low halves of v8 to v15, x29, and how far
 * the stack pointer was off.
 */
#if defined(__aarch64__)
	.text
	.globl	call_watched
	.type	call_watched, %function
call_watched:
	hint	#34			/* bti c */
	stp	x29, x30, [sp, #-192]!
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	mov	x9, sp
	stp	x3, x9, [sp, #160]	/* kept, sp */
	mov	x9, x0
	mov	x0, x1
	mov	x1, x2
	mov	x19, #0x1001
	mov	x20, #0x1002
	mov	x21, #0x1003
	mov	x22, #0x1004
	mov	x23, #0x1005
	mov	x24, #0x1006
	mov	x25, #0x1007
	mov	x26, #0x1008
	mov	x27, #0x1009
	mov	x28, #0x100a
	mov	x10, #0x100b
	fmov	d8, x10
	mov	x10, #0x100c
	fmov	d9, x10
	mov	x10, #0x100d
	fmov	d10, x10
	mov	x10, #0x100e
	fmov	d11, x10
	mov	x10, #0x100f
	fmov	d12, x10
	mov	x10, #0x1010
	fmov	d13, x10
	mov	x10, #0x1011
	fmov	d14, x10
	mov	x10, #0x1012
	fmov	d15, x10
	mov	x29, #0x1013
	blr	x9
	ldp	x3, x9, [sp, #160]
	stp	x19, x20, [x3, #0]
	stp	x21, x22, [x3, #16]
	stp	x23, x24, [x3, #32]
	stp	x25, x26, [x3, #48]
	stp	x27, x28, [x3, #64]
	stp	d8, d9, [x3, #80]
	stp	d10, d11, [x3, #96]
	stp	d12, d13, [x3, #112]
	stp	d14, d15, [x3, #128]
	mov	x10, sp
	sub	x10, x10, x9
	stp	x29, x10, [x3, #144]
	mov	sp, x9
	ldp	d14, d15, [sp, #144]
	ldp	d12, d13, [sp, #128]
	ldp	d10, d11, [sp, #112]
	ldp	d8, d9, [sp, #96]
	ldp	x27, x28, [sp, #80]
	ldp	x25, x26, [sp, #64]
	ldp	x23, x24, [sp, #48]
	ldp	x21, x22, [sp, #32]
	ldp	x19, x20, [sp, #16]
	ldp	x29, x30, [sp], #192
	ret
	.size	call_watched, . - call_watched
	.section .note.GNU-stack, "", %progbits
#endif
