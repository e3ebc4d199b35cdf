/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STACKS_FRAME_KINDS_H
#define GMT_READER_STACKS_FRAME_KINDS_H

/* Frame kinds: what a frame shows about its stack. The rows are in frame_kinds.def. */

#include <stdbool.h>
#include <stdint.h>

/* Bit numbers. */
enum gmt_frame_kind {
#define GMT_FRAME_KIND_NAME(NAME, meaning) GMT_FRAME_KIND_##NAME,
#define GMT_FRAME_KIND(NAME, kind, path_pattern, function_pattern)
#define GMT_FRAME_KIND_EXCEPT(NAME, kind, path_pattern, function_pattern)
#include "reader/stacks/frame_kinds.def"
#undef GMT_FRAME_KIND_NAME
#undef GMT_FRAME_KIND
#undef GMT_FRAME_KIND_EXCEPT
};

#define GMT_FRAME_KIND_BIT(NAME) (UINT32_C(1) << GMT_FRAME_KIND_##NAME)

/*
 * Returns the kinds of a frame, as bits. `path` is the file of a Python frame, or the module path
 * of a native frame.
 */
uint32_t gmt_frame_kinds(bool is_python, const char *path, const char *function);

#endif
