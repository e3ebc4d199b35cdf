/* SPDX-License-Identifier: MIT */
#include "render/space.h"

#include <stdio.h>

#include "wire/format.h"

struct gmt_space_text gmt_space_text(uint32_t space)
{
	struct gmt_space_text text;
	const char *name = gmt_space_name(space);

	if (name)
		snprintf(text.text, sizeof(text.text), "%s", name);
	else
		snprintf(text.text, sizeof(text.text), "space-%u", space);
	return text;
}
