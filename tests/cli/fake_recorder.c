/* SPDX-License-Identifier: MIT */
/*
 * Replaces libgpumemtrace.so in tests of `gpumemtrace run`. It writes the options that it was
 * loaded with to the file that FAKE_RECORDER names.
 */
#include <stdio.h>
#include <stdlib.h>

static __attribute__((constructor)) void write_environment(void)
{
	const char *path = getenv("FAKE_RECORDER"), *options = getenv("GPUMEMTRACE_OPTIONS");
	FILE *file = path ? fopen(path, "we") : NULL;

	if (!file)
		return;
	fprintf(file, "%s", options ? options : "(none)");
	fclose(file);
}
