/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_LIFECYCLE_H
#define GMT_LIFECYCLE_LIFECYCLE_H

/*
 * When what happens. A process that never touches CUDA gets no further than the constructor:
 *
 *   loading          options read, the real dlsym found; in a program linked to CUDA also the next. By our constructor, or
 *                    by the first hooked call, where the constructor of a linked library makes it earlier (load.h)
 *   reaching driver  unwinder and Python looked for (dlopen is allowed here)
 *   first event      files and writer thread made (writer/session.h)
 *   destructor       the driver is not asked any more
 *   last handler     behind the destructors of all libraries: writer finishes the file; so do _exit and quick_exit
 *   exec             all up to here is put into the file, which gets no end: the program may not be found
 *   child of a fork  begins anew, with nothing of its parent's
 */

/* The process reaches the driver: cuInit or cuGetProcAddress was called. Idempotent, any thread. */
void gmt_lifecycle_reach_driver(void);

#endif
