/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STACKS_FRAME_KINDS_H
#define GMT_READER_STACKS_FRAME_KINDS_H

/* What a frame says about the stack that it is in: the rows of frame_kinds.def. */

#include <stdbool.h>
#include <stdint.h>

/* Bit numbers. */
enum gmt_frame_kind {
#define GMT_FRAME_KIND_NAME(NAME, meaning) GMT_FRAME_KIND_##NAME,
#define GMT_FRAME_KIND(NAME, kind, where, what)
#define GMT_FRAME_KIND_EXCEPT(NAME, kind, where, what)
#include "reader/stacks/frame_kinds.def"
#undef GMT_FRAME_KIND_NAME
#undef GMT_FRAME_KIND
#undef GMT_FRAME_KIND_EXCEPT
};

#define GMT_FRAME_KIND_BIT(NAME) (UINT32_C(1) << GMT_FRAME_KIND_##NAME)

/* The landmarks of a frame, as bits. `where` is its file if it is of Python, else its module's path. */
uint32_t gmt_frame_kinds(bool is_python, const char *where, const char *function);

#endif
