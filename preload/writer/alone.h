/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_ALONE_H
#define GMT_WRITER_ALONE_H

/*
 * Whether the threads of the host have all ended, and only ours keep the process alive. That happens where the main thread ends by
 * pthread_exit, or by the system call. For the writer's thread.
 */

#include <stdbool.h>

/* Begins to look: from the writer's table, so that chroot changes nothing. */
void gmt_alone_init(void);

/* What /proc/self/task says. */
enum gmt_alone { GMT_ALONE_NO, GMT_ALONE_YES, GMT_ALONE_UNKNOWN };

/* Whether only `own` threads of ours are left, the writer among them. A few system calls. Unknown without /proc. */
enum gmt_alone gmt_alone_is(unsigned own);

/* Whether the process has one thread, as far as /proc tells. One system call. Any thread. */
bool gmt_alone_has_one_thread(void);

/*
 * The code that the process would end with without us, once gmt_alone_is says yes. Since Linux 6.1 that is the code of the last
 * thread, before that the main thread's. The kernel tells the code of a thread that is gone since Linux 6.15. The main thread's code
 * stands for it where it does not.
 */
int gmt_alone_exit_code(void);

/* In the child of a fork. */
void gmt_alone_forget(void);

#endif
