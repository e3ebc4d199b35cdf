/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_MEMORY_IS_READABLE_H
#define GMT_UNWIND_MEMORY_IS_READABLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Returns whether the page of `address` can be read. Makes one system call without side effects and
 * uses no file descriptor. Changes errno.
 */
bool gmt_memory_is_readable(uintptr_t address);

#endif
