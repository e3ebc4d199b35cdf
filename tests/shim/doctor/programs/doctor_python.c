/* SPDX-License-Identifier: MIT */
/*
 * Copied to a name of Python's, it answers whatever it is asked with DOCTOR_PYTHON, of which ';'
 * ends lines.
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
