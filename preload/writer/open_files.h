/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_OPEN_FILES_H
#define GMT_WRITER_OPEN_FILES_H

/* The files and the memory that a recording begins with. */

#include <stdbool.h>
#include <stdint.h>

#include "writer/recording.h"

/*
 * Creates the recording's file, and the area with the depot unless `recording` has one. Fills in `recording`, whose identity is
 * known. `area` is the caller's. Returns false with a reason in ret_why; there is no file then. For the writer, whose descriptors
 * they are.
 */
bool gmt_open_files(struct gmt_recording *recording, struct gmt_recording_memory *area, char *ret_why, uint32_t why_bytes);

/*
 * Maps the area, with the depot, in memory without a file. Fills in `recording`. `area` is the caller's. Returns false with a reason in
 * ret_why. Any thread; opens no descriptor.
 */
bool gmt_open_memory(struct gmt_recording *recording, struct gmt_recording_memory *area, char *ret_why, uint32_t why_bytes);

#endif
