/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_DLERROR_H
#define GMT_INTERPOSE_DLERROR_H

/*
 * The loader keeps one error for each thread until dlerror() fetches it or the thread's next call of the loader. The
 * recorder calls the loader in threads of the program: between these two functions, so that the program finds the
 * error that it would find without the recorder, or none.
 */

#include <stdbool.h>

/* Takes the error that waits for the program, if there is one, and says whether there is. Pairs may lie in each other. */
bool gmt_dlerror_hold(void);

/* Drops the error that the recorder's own calls left, and gives back the one that gmt_dlerror_hold took. */
void gmt_dlerror_release(bool is_held);

#endif
