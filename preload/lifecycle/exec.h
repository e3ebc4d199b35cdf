/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_EXEC_H
#define GMT_LIFECYCLE_EXEC_H

/*
 * Replaces the functions of the exec family. The new program ends the recording without further
 * notice, so the recorder writes its events before (writer/session.h, gmt_session_before_exec).
 * Children that are forked to run a program also call these functions, and so do children of vfork,
 * in their parent's memory. In such children everything is as without the recorder.
 */

/*
 * Finds the original functions. Called from the constructor. A function that is called earlier, or
 * was not found, is looked up when it is called.
 */
void gmt_exec_init(void);

#endif
