/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_SPACE_H
#define GMT_RENDER_SPACE_H

#include <stdint.h>

struct gmt_space_text {
	char text[24];
};

/* The name of a space; "space-9" for one that this version does not know. */
struct gmt_space_text gmt_space_text(uint32_t space);

#endif
