/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_LIFECYCLE_H
#define GMT_LIFECYCLE_LIFECYCLE_H

/*
 * The phases of a process. A process that never uses CUDA has only the first phase:
 *
 *   loading          The recorder reads its options and finds the original dlsym: in its
 *                    constructor, or in the first hooked call, if another library's constructor
 *                    makes that call earlier (initialize.h). If the program is linked to CUDA, the
 *                    next phase follows at once.
 *   reaching driver  The recorder looks for the unwinder and Python (dlopen is allowed here).
 *   first event      The recorder creates the files and the writer's thread (writer/session.h).
 *   destructor       The recorder makes no more calls to the driver.
 *   last handler     The writer finishes the file, after the destructors of all libraries. _exit
 *                    and quick_exit also lead to this phase.
 *   exec             The writer writes everything so far to the file. It does not finish the file,
 *                    because the exec may fail.
 *   child of a fork  The child begins its own recording and uses nothing of its parent's.
 */

#endif
