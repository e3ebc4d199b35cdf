/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_HEAD_H
#define GMT_RENDER_HEAD_H

#include "analysis/caveats.h"
#include "render/plain.h"

/* How every text about a snapshot begins: what was recorded, when, and whether all of it is there. */
void gmt_head_text(const struct gmt_plain *plain, const struct gmt_snapshot *snapshot,
	const struct gmt_caveats *caveats);

#endif
