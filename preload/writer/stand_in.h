/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_STAND_IN_H
#define GMT_WRITER_STAND_IN_H

/*
 * A thread that takes the place of the host's last thread. When the main thread has ended by pthread_exit, libc has the last thread
 * call exit(0), which runs the handlers at exit. With our threads in the process, no thread of the host is the last. So this one calls
 * exit(0), when the others have ended. It has the host's descriptors, and is no thread of the recorder: what handlers and destructors
 * free is recorded.
 */

#include <stdbool.h>

/* Makes the thread, which sleeps. From a thread of the host. Idempotent. errno is kept. */
void gmt_stand_in_begin(void);

/* Whether it is there; then it is one of our threads. */
bool gmt_stand_in_is_there(void);

/* It calls exit(0). Where it was not made, it is made now. False when that fails. */
bool gmt_stand_in_exit(void);

/* It ends, and calls nothing. */
void gmt_stand_in_leave(void);

/* In the child of a fork. */
void gmt_stand_in_forget(void);

#endif
