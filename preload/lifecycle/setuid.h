/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_SETUID_H
#define GMT_LIFECYCLE_SETUID_H

/*
 * Replaces setuid, setreuid and setresuid. After such a call, a process of root may lack the right
 * to remove the recorder's files in shared memory. So the recorder removes their names before the
 * call (writer/session.h). It does not replace seteuid, because the process can undo that change.
 */

/* Finds the original functions. Called from the constructor. */
void gmt_setuid_init(void);

#endif
