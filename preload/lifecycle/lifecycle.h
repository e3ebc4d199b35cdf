/* SPDX-License-Identifier: MIT */
#ifndef GMT_LIFECYCLE_LIFECYCLE_H
#define GMT_LIFECYCLE_LIFECYCLE_H

/*
 * The phases of a process. In a process that never uses CUDA only the first phase (loading) takes
 * place:
 *
 *   loading          The recorder reads its options and finds the original dlsym. In a program that
 *                    is linked to CUDA, the next phase follows. The constructor does this, or the
 *                    first hooked call, if a linked library's constructor makes it (load.h).
 *   reaching driver  The recorder looks for the unwinder and Python (dlopen is allowed here).
 *   first event      The recorder creates the files and the writer's thread (writer/session.h).
 *   destructor       The recorder makes no more calls to the driver.
 *   last handler     The writer finishes the file, after the destructors of all libraries.
 *                    _exit and quick_exit do the same.
 *   exec             The writer puts everything so far into the file. It does not end the file,
 *                    because the exec may fail.
 *   child of a fork  The child begins again and uses nothing of its parent's recording.
 */

#endif
