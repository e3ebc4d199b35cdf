/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_CREATE_RECORDING_H
#define GMT_WRITER_CREATE_RECORDING_H

/* Creates the files and maps the memory of a new recording. */

#include <stdbool.h>
#include <stdint.h>

#include "writer/recording_state.h"

/*
 * Creates the recording's file. Also creates the recording memory with the depot, unless
 * `recording` already has one. Fills in `recording`; its `identity` must be set. The caller owns
 * `memory`. On failure returns false, writes a reason to ret_why, and leaves no file. Called by the
 * thread that writes the file, because the descriptors belong to its table.
 */
bool gmt_create_recording(struct gmt_recording_state *recording,
	struct gmt_recording_memory *memory, char *ret_why, uint32_t why_bytes);

/*
 * Maps the recording memory, with the depot, without a file. Fills in `recording`. The caller owns
 * `memory`. On failure returns false with a reason in ret_why. Any thread. Opens no descriptor.
 */
bool gmt_create_recording_memory(struct gmt_recording_state *recording,
	struct gmt_recording_memory *memory, char *ret_why, uint32_t why_bytes);

#endif
