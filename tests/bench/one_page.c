/* SPDX-License-Identifier: MIT */
/*
 * one_page.h for a program that is not ours: preloaded in front of Python. It needs no CUDA: with
 * the runtime, the driver would be reached before there is an interpreter.
 */
#include "one_page.h"

void one_page_loop(int is_in_loop);

/* For the calling thread, from now on. */
void one_page_loop(int is_in_loop)
{
	in_loop = is_in_loop;
}
