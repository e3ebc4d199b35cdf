/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_PROBE_MEMORY_H
#define GMT_UNWIND_PROBE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns whether the page of `address` can be read. Makes one system call without side effects and
 * uses no file descriptor. Changes errno.
 */
bool gmt_memory_is_readable(uintptr_t address);

#endif
