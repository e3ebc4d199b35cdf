/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_DLERROR_H
#define GMT_INTERPOSE_DLERROR_H

/*
 * The loader keeps one error per thread until dlerror() fetches it, or until the thread's next
 * loader call. The recorder also calls the loader in the program's threads. It surrounds these
 * calls with the two functions below, so that the program finds the same error as without the
 * recorder.
 */

#include <stdbool.h>

/* Saves the program's pending error. Returns whether there was an error. Pairs may be nested. */
bool gmt_dlerror_hold(void);

/*
 * Drops the error of the recorder's own calls, and restores the error that gmt_dlerror_hold saved.
 */
void gmt_dlerror_release(bool is_held);

/*
 * Returns `name` with a mark, so that the loader does not find it. dlerror removes the mark from
 * the loader's text. Returns NULL if the name is longer than any hooked name. The returned text
 * belongs to the calling thread, and is valid until its next call of gmt_dlerror_forget_absent.
 */
const char *gmt_dlerror_mark_absent(const char *name);

/* Forgets the marked name, unless `name` is that very text: another preload may pass it on. */
void gmt_dlerror_forget_absent(const char *name);

#endif
