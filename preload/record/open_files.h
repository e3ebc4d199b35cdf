/* SPDX-License-Identifier: MIT */
#ifndef GMT_RECORD_OPEN_FILES_H
#define GMT_RECORD_OPEN_FILES_H

/* The files that a recording begins with. For the writer's thread, whose descriptors they are. */

#include <stdbool.h>
#include <stdint.h>

#include "record/recording.h"

/*
 * Creates the recording's file, and the area with the depot. Fills in `recording`, whose identity is known. `area` is the caller's. False
 * with a reason in ret_why; there is no file then.
 */
bool gmt_open_files(struct gmt_recording *recording, struct gmt_area *area, char *ret_why, uint32_t why_bytes);

#endif
