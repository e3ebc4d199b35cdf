/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_NEW_USER_H
#define GMT_LIFECYCLE_NEW_USER_H

/*
 * setuid, setreuid and setresuid of a process of root. Afterwards the process may not remove the names of the recorder's files in
 * shared memory any more. So they are removed before (writer/session.h). seteuid can be taken back, and is left alone.
 */

/* From the constructor: finds the real functions. */
void gmt_new_user_init(void);

#endif
