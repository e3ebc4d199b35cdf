/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_FORK_WITHOUT_HANDLERS_H
#define GMT_LIFECYCLE_FORK_WITHOUT_HANDLERS_H

/*
 * Finds the original _Fork(). The recorder hooks _Fork, because _Fork does not call the
 * pthread_atfork handlers. Called from the constructor.
 */
void gmt_fork_without_handlers_init(void);

#endif
