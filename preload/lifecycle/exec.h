/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_EXEC_H
#define GMT_LIFECYCLE_EXEC_H

/*
 * Replaces the functions of the exec family. A successful exec ends the recorder at once, so the
 * recorder writes its events before the call (writer/session.h, gmt_session_before_exec). In the
 * child of a fork or vfork that runs another program, the recorder does nothing.
 */

/*
 * Finds the original functions. Call it from the constructor. An earlier exec finds its own
 * original.
 */
void gmt_exec_init(void);

#endif
