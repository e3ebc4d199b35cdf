/* SPDX-License-Identifier: MIT */
/*
 * Replaces the Python interpreter in tests of merged stacks. Its functions have the interpreter's
 * names. Each returns a return address inside of itself. Built as libpython-fake.so.
 */
#include "fake_frames.h"

uint64_t fake_eval(void) __asm__("_PyEval_EvalFrameDefault");
uint64_t fake_cfunction(void) __asm__("cfunction_vectorcall_NOARGS");

uint64_t fake_eval(void)
{
	return return_address_in_caller();
}

uint64_t fake_cfunction(void)
{
	return return_address_in_caller();
}
