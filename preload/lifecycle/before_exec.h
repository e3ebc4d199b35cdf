/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_BEFORE_EXEC_H
#define GMT_LIFECYCLE_BEFORE_EXEC_H

/*
 * The functions of the exec family are taken over, because the program that takes this one's place ends
 * the recording without another word (writer/session.h, gmt_session_before_exec). Children that are forked
 * to run a program come here too, those of vfork in their parent's memory: all is as without the recorder then.
 */

/* From the constructor: the real ones. Before it, and where one is missing, they are looked for when called. */
void gmt_before_exec_init(void);

#endif
