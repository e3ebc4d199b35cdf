/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_FORK_H
#define GMT_LIFECYCLE_FORK_H

/*
 * Finds the original _Fork(). The recorder replaces it, because it forks without calling the
 * handlers of pthread_atfork. Called from the constructor.
 */
void gmt_fork_init(void);

#endif
