/* SPDX-License-Identifier: MIT */
#ifndef MARKS_LIBRARY_H
#define MARKS_LIBRARY_H

/* A shared library that sets marks of its own. */

#ifdef __cplusplus
extern "C" {
#endif

void library_push(const char *name);
void library_pop(void);

#ifdef __cplusplus
}
#endif

#endif
