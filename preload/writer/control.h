/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_CONTROL_H
#define GMT_WRITER_CONTROL_H

/*
 * The control file of a recording (shared_memory/control_page.h). The writer publishes the state of
 * the recording in it, and other processes place their requests in it. Only the writer's thread
 * uses these functions. If there is no usable folder for the control file, the recording works
 * without it and accepts no requests.
 */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/config.h"
#include "writer/recording_state.h"
#include "writer/stream.h"

/* Creates the control file. Called when the recording begins. */
void gmt_control_open(const struct gmt_recording_state *recording);

/*
 * Publishes the state of the stream and the mode of the recording, and handles a request, if there
 * is one. The writer calls it once in each round.
 */
void gmt_control_round(const struct gmt_stream *stream, enum gmt_mode mode);

/* Removes the control file. Called at the end of the recording. */
void gmt_control_close(void);

#endif
