/* SPDX-License-Identifier: MIT */
/*
 * A name that only this library has must not be found, and what dlerror then says must be what it says
 * without us: under the name of the object that looked. The loader says that itself when it is asked
 * for a name that nobody has; the filter of dlsym (dlsym.c) asks for ours with a mark behind it, and here
 * the mark is taken away.
 */
#include <string.h>

#include "routes/dlsym.h"
#include "routes/libc.h"

/* Takes the mark off the end of "OBJECT: undefined symbol: NAME". */
static void mend(char *text)
{
	const char *absent = gmt_dlsym_absent_name();
	size_t length = strlen(text), absent_length = strlen(absent);

	/* The loader made the text for this thread alone, and frees it. */
	if (absent_length && length >= absent_length && strcmp(text + length - absent_length, absent) == 0)
		text[length - 1] = 0;
}

char *gmt_wrap_dlerror(void)
{
	if (!gmt_libc.dlsym)
		gmt_libc_init();

	char *text = gmt_libc.dlerror ? gmt_libc.dlerror() : NULL;

	if (text)
		mend(text);
	return text;
}

__attribute__((visibility("default"), alias("gmt_wrap_dlerror"))) char *dlerror(void);
