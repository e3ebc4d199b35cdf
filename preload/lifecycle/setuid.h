/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_SETUID_H
#define GMT_LIFECYCLE_SETUID_H

/*
 * Replaces setuid, setreuid and setresuid for a process of root. After these calls the process may
 * not be allowed to remove the names of the recorder's files in shared memory. So the recorder
 * removes them before (writer/session.h). seteuid is not replaced, because the process can undo it.
 */

/* Finds the original functions. Called from the constructor. */
void gmt_setuid_init(void);

#endif
