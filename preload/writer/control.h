/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_CONTROL_H
#define GMT_WRITER_CONTROL_H

/*
 * The control file of a recording (shared_memory/control.h): how it is doing, and what others ask of it. Used by the
 * writer's thread alone, but for gmt_control_abandon. A recording without one, because no folder could be had,
 * is as good as any: it cannot be asked anything.
 */

#include <stdbool.h>
#include <stdint.h>

#include "runtime/config.h"
#include "writer/recording.h"
#include "writer/stream.h"

/* Makes the control file of a recording that begins. */
void gmt_control_open(const struct gmt_recording *recording);

/* Tells how the stream is doing, and takes up what is asked. Once a round. */
void gmt_control_round(const struct gmt_stream *stream);

/* The recording has changed its mode. */
void gmt_control_tell_mode(enum gmt_mode mode);

/* The snapshot that was asked for is at `path`, or is not to be had, because of `why`. */
void gmt_control_answer(const char *path, const char *why);

/* The recording ends: the file goes. */
void gmt_control_close(void);

/* In the child of a fork: the parent's is let go of. */
void gmt_control_abandon(void);

#endif
