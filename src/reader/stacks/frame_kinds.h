/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_STACKS_FRAME_KINDS_H
#define GMT_READER_STACKS_FRAME_KINDS_H

/* What a frame says about the stack that it is in: the rows of frame_kinds.def. */

#include <stdbool.h>
#include <stdint.h>

/* Bit numbers. */
enum gmt_landmark {
#define GMT_LANDMARK_NAME(NAME, meaning) GMT_LANDMARK_##NAME,
#define GMT_LANDMARK(NAME, kind, where, what)
#define GMT_LANDMARK_EXCEPT(NAME, kind, where, what)
#include "reader/stacks/frame_kinds.def"
#undef GMT_LANDMARK_NAME
#undef GMT_LANDMARK
#undef GMT_LANDMARK_EXCEPT
};

#define GMT_LANDMARK_BIT(NAME) (UINT32_C(1) << GMT_LANDMARK_##NAME)

/* The landmarks of a frame, as bits. `where` is its file if it is of Python, else its module's path. */
uint32_t gmt_landmarks(bool is_python, const char *where, const char *function);

#endif
