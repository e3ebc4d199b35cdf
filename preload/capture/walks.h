/* SPDX-License-Identifier: MIT */
#ifndef GMT_CAPTURE_WALKS_H
#define GMT_CAPTURE_WALKS_H

/* Gives each thread that takes stacks its memory for walks, and finds out who does not need it any more. */

#include "capture/walk.h"

enum { GMT_WALKS = 1024 }; /* threads at one time */

/*
 * Memory for the calling thread, empty; NULL when there is none left. It is the thread's until it says that it ends or
 * the kernel knows it no more. A few system calls, no lock.
 */
struct gmt_walk *gmt_walks_claim(void);

/* The calling thread ends: another one may have it. */
void gmt_walks_leave(struct gmt_walk *walk);

/* In the child of a fork: all of it is free. */
void gmt_walks_reset(void);

#endif
