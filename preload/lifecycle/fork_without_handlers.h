/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_FORK_WITHOUT_HANDLERS_H
#define GMT_LIFECYCLE_FORK_WITHOUT_HANDLERS_H

/*
 * Finds the original _Fork(). The recorder replaces _Fork, because _Fork calls no pthread_atfork
 * handlers. Call it from the constructor.
 */
void gmt_fork_without_handlers_init(void);

#endif
