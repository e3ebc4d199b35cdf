/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_FAKE_FRAMES_H
#define GMT_TESTS_FAKE_FRAMES_H

#include <stdint.h>

/*
 * Returns the address at which its caller continues: the return address of a frame of that caller.
 */
static __attribute__((noinline, noclone, unused)) uint64_t return_address_in_caller(void)
{
	uint64_t address = (uint64_t)(uintptr_t)__builtin_return_address(0);

	/* Prevents a tail call. */
	__asm__ volatile("" : "+r"(address));
	return address;
}

/* Functions of libpython-fake.so. */
uint64_t fake_eval(void) __asm__("_PyEval_EvalFrameDefault");
uint64_t fake_cfunction(void) __asm__("cfunction_vectorcall_NOARGS");

/*
 * Functions of libframework-fake.so: a framework's operator with a C++ name, and a function with an
 * inlined one.
 */
uint64_t fake_operator(void) __asm__("_ZN2at4_ops2mm4callERKNS_6TensorES4_");
uint64_t fake_outer(void);

enum { FAKE_INLINED_LINE = 18, FAKE_OUTER_LINE = 26 }; /* lines of fake_framework.c */

#endif
