/* SPDX-License-Identifier: MIT */
/*
 * Stands in for Python, under one of Python's names. It ignores its arguments and prints
 * DOCTOR_PYTHON, with a line end for each ';'.
 */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	const char *answer = getenv("DOCTOR_PYTHON");

	for (; answer && *answer; answer++)
		putchar(*answer == ';' ? '\n' : *answer);
	return 0;
}
