/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_HEAD_H
#define GMT_RENDER_HEAD_H

#include "analysis/recording/warnings.h"
#include "render/json.h"
#include "render/plain.h"

/* How every text about a snapshot begins: what was recorded, when, and whether all of it is there. */
void gmt_head_text(const struct gmt_plain *plain, const struct gmt_snapshot *snapshot,
	const struct gmt_warnings *warnings);

/* The key "in_progress" with the process that still records, if there is one, into the object that is open. */
void gmt_head_in_progress(struct gmt_json *json, const struct gmt_snapshot *snapshot);

/* The key "remarks" and its list, into the object that is open. */
void gmt_head_remarks(struct gmt_json *json, const struct gmt_warnings *warnings);

#endif
