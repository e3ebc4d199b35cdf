/* SPDX-License-Identifier: MIT */
/*
 * If only the recorder exports a name, the program must not find it, and dlerror must return the
 * same text as without the recorder. The loader makes that text for a name that does not exist. So
 * the filter of dlsym (dlsym.c) passes on the name plus a mark, and dlerror removes the mark from
 * the text.
 */
#include "interpose/dlerror.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/dlsym.h"
#include "interpose/libc_dlsym.h"

/*
 * No symbol name contains a space, so no object exports the marked name. A caller that uses libc's
 * own dlerror hardly sees a space.
 */
enum { ABSENT_MARK = ' ', ABSENT_BYTES = 128 /* long enough for every hooked name */ };

static __thread char absent_name[ABSENT_BYTES] __attribute__((tls_model("initial-exec")));

const char *gmt_dlerror_mark_absent(const char *name)
{
	size_t length = strlen(name);

	if (length + 2 > ABSENT_BYTES)
		return NULL;
	memcpy(absent_name, name, length);
	absent_name[length] = ABSENT_MARK;
	absent_name[length + 1] = 0;
	return absent_name;
}

void gmt_dlerror_forget_absent(const char *name)
{
	if (name != absent_name)
		absent_name[0] = 0;
}

/*
 * Removes the mark from "OBJECT: undefined symbol: NAME" and from "OBJECT: undefined symbol: NAME,
 * version VERSION".
 */
static void remove_mark(char *text)
{
	char *name = absent_name[0] ? strstr(text, absent_name) : NULL;

	/* The text may be changed: the loader made it for this thread only. */
	if (name) {
		char *mark = name + strlen(absent_name) - 1;

		memmove(mark, mark + 1, strlen(mark));
	}
}

/*
 * The loader has no function that sets an error. So the recorder ends its calls with a look-up of
 * this name, which does not exist. The loader keeps that error as long as it would have kept the
 * program's error. dlerror returns the program's text in its place.
 */
static const char placeholder_name[] = "an error from before";

/*
 * The program's text, on the heap. The thread frees it when it saves the next text. The last text
 * of a thread is never freed.
 */
static __thread char *held_text __attribute__((tls_model("initial-exec")));

bool gmt_dlerror_hold(void)
{
	gmt_libc_init();

	char *text = gmt_libc.dlerror ? gmt_libc.dlerror() : NULL;

	if (!text)
		return false;
	if (held_text && strstr(text, placeholder_name))
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
		gmt_libc.dlsym(RTLD_DEFAULT, placeholder_name);
}

char *gmt_wrap_dlerror(void)
{
	if (!gmt_libc.dlsym)
		gmt_libc_init();

	char *text = gmt_libc.dlerror ? gmt_libc.dlerror() : NULL;

	if (text && held_text && strstr(text, placeholder_name))
		return held_text;
	if (text)
		remove_mark(text);
	return text;
}

__attribute__((visibility("default"), alias("gmt_wrap_dlerror"))) char *dlerror(void);
