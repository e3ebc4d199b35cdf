/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_PAGE_PAGE_WRITE_H
#define GMT_RENDER_PAGE_PAGE_WRITE_H

/* Parts of the page, for the files of this folder. All return false when out of memory. */

#include "render/page.h"
#include "render/page/packet.h"

bool gmt_page_write_recording(const struct gmt_page_view *view, FILE *file);
bool gmt_page_write_device(const struct gmt_page_view *view, const struct gmt_page_device *device,
	FILE *file);

/* Writes the keys `phases` and `phases_left_out`. */
bool gmt_page_write_phases(const struct gmt_page_view *view, struct gmt_json *json);

#endif
