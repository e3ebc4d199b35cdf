/* SPDX-License-Identifier: MIT */
/*
 * A program must not find a name that only this library exports. dlerror must then return the same
 * text as without us, with the name of the object that looked. The loader itself makes that text if
 * it is asked for a name that does not exist. So the filter of dlsym (dlsym.c) asks for our name
 * plus a mark. This file removes the mark from the text.
 */
#include "interpose/dlerror.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/dlsym.h"
#include "interpose/libc.h"

/*
 * Removes the mark from "OBJECT: undefined symbol: NAME" and from "OBJECT: undefined symbol: NAME,
 * version VERSION".
 */
static void remove_mark(char *text)
{
	const char *absent = gmt_dlsym_absent_name();
	char *name = absent[0] ? strstr(text, absent) : NULL;

	/* The loader made the text for this thread only, and frees it. */
	if (name) {
		char *mark = name + strlen(absent) - 1;

		memmove(mark, mark + 1, strlen(mark));
	}
}

/*
 * The loader has no call that sets an error. So the recorder ends its calls with a look-up of a
 * name that does not exist. The loader keeps that error exactly as long as it would have kept the
 * program's error, and dlerror returns the program's text for it.
 */
static const char held_name[] = "an error from before";

/*
 * From the heap, like the loader's own texts. The thread frees it when it needs another one. The
 * last text of a thread is never freed.
 */
static __thread char *held_text __attribute__((tls_model("initial-exec")));

bool gmt_dlerror_hold(void)
{
	gmt_libc_init();

	char *text = gmt_libc.dlerror ? gmt_libc.dlerror() : NULL;

	if (!text)
		return false;
	if (held_text && strstr(text, held_name))
		return true;
	remove_mark(text);
	free(held_text);
	held_text = strdup(text);
	return held_text != NULL;
}

void gmt_dlerror_release(bool is_held)
{
	if (!gmt_libc.dlerror)
		return;
	gmt_libc.dlerror();
	if (is_held && gmt_libc.dlsym)
		gmt_libc.dlsym(RTLD_DEFAULT, held_name);
}

char *gmt_wrap_dlerror(void)
{
	if (!gmt_libc.dlsym)
		gmt_libc_init();

	char *text = gmt_libc.dlerror ? gmt_libc.dlerror() : NULL;

	if (text && held_text && strstr(text, held_name))
		return held_text;
	if (text)
		remove_mark(text);
	return text;
}

__attribute__((visibility("default"), alias("gmt_wrap_dlerror"))) char *dlerror(void);
