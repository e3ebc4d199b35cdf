/* SPDX-License-Identifier: MIT */
/*
 * Provides one_page.h to a program that is not ours: it is preloaded into Python. It is not linked
 * to CUDA: with the runtime, it would call the driver before there is an interpreter.
 */
#include "one_page.h"

void one_page_loop(int is_in_loop);

/* Sets for the calling thread whether it is in the measured loop. */
void one_page_loop(int is_in_loop)
{
	in_loop = is_in_loop;
}
