/* SPDX-License-Identifier: MIT */
/* marks.c, compiled as C++. */
#include "marks.c"
