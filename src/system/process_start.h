/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_PROCESS_START_H
#define GMT_SYSTEM_PROCESS_START_H

/*
 * The start time of a process. A pid and a start time together identify a process, because the
 * kernel reuses pids.
 */

#include <stdint.h>
#include <sys/types.h>

/*
 * Returns the start time in clock ticks since boot, from /proc/PID/stat. Returns 0 if it is
 * unknown, if there is no such process, or if only its exit code is left. Allocates no memory; any
 * thread.
 */
uint64_t gmt_process_start_ticks(pid_t pid);

#endif
