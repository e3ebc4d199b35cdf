/* SPDX-License-Identifier: MIT */
#ifndef GMT_ROUTES_DLCLOSE_H
#define GMT_ROUTES_DLCLOSE_H

/*
 * dlclose is taken over because an object that goes takes its addresses along: what is loaded is noted
 * down first, stacks taken afterwards belong to a new module map, and calling objects are looked up
 * anew. dlopen is left alone: taking it over would change whose RUNPATH applies.
 */

/* The C library's dlclose, for the recorder's own handles. */
int gmt_real_dlclose(void *handle);

#endif
