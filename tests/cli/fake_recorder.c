/* SPDX-License-Identifier: MIT */
/*
 * Stands for libgpumemtrace.so in tests of `gpumemtrace run`: says that it was loaded, and with
 * which options, when the program asks for it in FAKE_RECORDER.
 */
#include <stdio.h>
#include <stdlib.h>

static __attribute__((constructor)) void tell(void)
{
	const char *path = getenv("FAKE_RECORDER"), *options = getenv("GPUMEMTRACE_OPTIONS");
	FILE *file = path ? fopen(path, "we") : NULL;

	if (!file)
		return;
	fprintf(file, "%s", options ? options : "(none)");
	fclose(file);
}
