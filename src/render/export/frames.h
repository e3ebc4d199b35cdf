/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_EXPORT_FRAMES_H
#define GMT_RENDER_EXPORT_FRAMES_H

/* Names of frames, devices and profiles, in the forms that viewers of other projects expect. */

#include <stdint.h>
#include <stdio.h>

#include "analysis/profile/profile.h"
#include "reader/stacks/traces.h"
#include "render/memory_names.h"

/* In place of a stack that was not recorded. */
#define GMT_EXPORT_NO_STACK "[no stack]"

struct gmt_export_name {
	char text[96];
};

/*
 * Returns the function of a frame. Without its name: "[libfoo.so]", or "[unknown]". Borrows from
 * `traces`, or from `buffer`.
 */
const char *gmt_export_function(const struct gmt_traces *traces, const struct gmt_place *place,
	struct gmt_export_name *buffer);

/* Returns the title of one number on one device: "live memory, torch, GPU 0". */
struct gmt_export_name gmt_export_profile(const struct gmt_profile *profile, int32_t device,
	enum gmt_profile_value value);

/*
 * Writes a text as valid UTF-8 on one line: '?' replaces each character that cannot be shown
 * (base/safe_text.h), and ':' replaces each character of `separators`. Spends the output budget
 * (base/budget.h): when it is spent, long texts are cut.
 */
void gmt_export_line(FILE *file, const char *text, const char *separators);

/*
 * Writes "train (model.py:12)", the function alone if the frame has no file, or the file's name
 * without a line if that is unknown. `separators` is as for gmt_export_line.
 */
void gmt_export_frame(FILE *file, const struct gmt_traces *traces, uint32_t place,
	const char *separators);

#endif
