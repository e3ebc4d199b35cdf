/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_FORK_H
#define GMT_LIFECYCLE_FORK_H

/* _Fork(), which is taken over from libc: it forks without telling anybody. From the constructor. */
void gmt_fork_init(void);

#endif
