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

/* Takes the mark out of "OBJECT: undefined symbol: NAME" and "OBJECT: undefined symbol: NAME, version VERSION". */
static void mend(char *text)
{
	const char *absent = gmt_dlsym_absent_name();
	char *name = absent[0] ? strstr(text, absent) : NULL;

	/* The loader made the text for this thread alone, and frees it. */
	if (name) {
		char *mark = name + strlen(absent) - 1;

		memmove(mark, mark + 1, strlen(mark));
	}
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
