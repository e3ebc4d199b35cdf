/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_EXPORT_CHROME_SLICES_H
#define GMT_RENDER_EXPORT_CHROME_SLICES_H

/* Steps and phases as slices of Chrome's format. */

#include "render/export/chrome_writer.h"

/*
 * Writes the steps and the phases. Each series of steps has one track; the phases have one or
 * more. Returns false when out of memory.
 */
bool gmt_chrome_slices(struct gmt_chrome *chrome);

#endif
