/* SPDX-License-Identifier: MIT */
/*
 * A program at a fixed address that uses a variable of the loader. The linker makes a copy
 * relocation: the variable lies in the program, and is empty until the program is relocated. node
 * is built this way. Prints whether the variable is set, and whether weak CUDA symbols are found.
 */
#include <stdio.h>

extern void *__libc_stack_end;

int main(void)
{
	/* Loads the address like position-independent code. Otherwise the linker makes it NULL. */
	const void *weak_reference;

	__asm__("movq cuInit@GOTPCREL(%%rip), %0\n\t.weak cuInit" : "=r"(weak_reference));
	printf("%s, %s\n", __libc_stack_end ? "a stack" : "no stack",
		weak_reference ? "CUDA" : "no CUDA");
	return 0;
}
