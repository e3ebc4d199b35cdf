/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_LINES_CHARACTER_WIDTH_H
#define GMT_RENDER_LINES_CHARACTER_WIDTH_H

#include <stdint.h>

/*
 * Returns how many columns a terminal uses for a Unicode character: 0 for combining marks, 2 for
 * wide characters, else 1. No state; does not depend on the locale.
 */
unsigned gmt_character_width(uint32_t character);

#endif
