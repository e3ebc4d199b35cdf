/* SPDX-License-Identifier: MIT */
/*
 * A program at a fixed address, with a variable of the loader's that is therefore copied into it:
 * it is empty until the program itself is relocated. So node is built. Tells also whether CUDA
 * seems to be there.
 */
#include <stdio.h>

extern void *__libc_stack_end;

int main(void)
{
	/* As position-independent code asks: otherwise the linker decides that there is none. */
	const void *weak_reference;

	__asm__("movq cuInit@GOTPCREL(%%rip), %0\n\t.weak cuInit" : "=r"(weak_reference));
	printf("%s, %s\n", __libc_stack_end ? "a stack" : "no stack",
		weak_reference ? "CUDA" : "no CUDA");
	return 0;
}
