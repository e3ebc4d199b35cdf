/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_PROCESS_START_H
#define GMT_SYSTEM_PROCESS_START_H

/* When a process began: with its number, which one it is, for numbers are given again. */

#include <stdint.h>
#include <sys/types.h>

/*
 * Clock ticks since boot, as /proc/PID/stat says it; 0 when it cannot be known, there is no such process, or nothing
 * is left of it but its exit code. No memory; any thread.
 */
uint64_t gmt_process_start_ticks(pid_t pid);

#endif
