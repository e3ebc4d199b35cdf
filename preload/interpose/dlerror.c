/* SPDX-License-Identifier: MIT */
/*
 * A name that only this library has must not be found, and what dlerror then says must be what it says
 * without us: under the name of the object that looked. The loader says that itself when it is asked
 * for a name that nobody has; the filter of dlsym (dlsym.c) asks for ours with a mark behind it, and here
 * the mark is taken away.
 */
#include "interpose/dlerror.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/dlsym.h"
#include "interpose/libc.h"

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

/*
 * The loader has no call that sets an error. So the recorder looks up a name that nobody has, last of all its calls. The
 * loader keeps that error exactly as long as it would have kept the program's, and dlerror answers with the program's text.
 */
static const char held_name[] = "an error from before";

/* From the heap, as the loader's own texts are. Freed when the thread needs it for another; a thread's last one is left. */
static __thread char *held_text __attribute__((tls_model("initial-exec")));

bool gmt_dlerror_hold(void)
{
	gmt_libc_init();

	char *text = gmt_libc.dlerror ? gmt_libc.dlerror() : NULL;

	if (!text)
		return false;
	if (held_text && strstr(text, held_name))
		return true;
	mend(text);
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
		mend(text);
	return text;
}

__attribute__((visibility("default"), alias("gmt_wrap_dlerror"))) char *dlerror(void);
