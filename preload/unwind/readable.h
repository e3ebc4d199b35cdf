/* SPDX-License-Identifier: MIT */
#ifndef GMT_UNWIND_READABLE_H
#define GMT_UNWIND_READABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the page of `address` can be read. A system call without side effects, no descriptor; changes errno. */
bool gmt_is_readable(uintptr_t address);

#endif
