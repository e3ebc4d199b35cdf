/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_LOAD_INPUT_H
#define GMT_TOOLS_RECORDINGS_LOAD_INPUT_H

#include "reader/load/recording.h"

/*
 * Loads a recording, and shows the progress. The path `-` is standard input. If the recording
 * cannot be read, prints an error, returns the exit code and sets *ret_recording to NULL. If only a
 * part can be read, prints a warning and returns 0.
 */
int gmt_input_load(const char *path, struct gmt_recording **ret_recording);

/* Same, from a stream. The stream's name is also the path of the recording. */
int gmt_input_load_stream(const struct gmt_source_stream *stream,
	struct gmt_recording **ret_recording);

/*
 * Opens the blocks of a recording: same as gmt_source_open_with, but the path `-` is standard
 * input. `shared_recording` may be NULL.
 */
enum gmt_status gmt_input_open(const char *path, struct gmt_shared_recording *shared_recording,
	struct gmt_source **ret_source, struct gmt_error *error);

/*
 * Reads a whole small text file. The caller frees the result with free(). Returns NULL and sets
 * errno on failure.
 */
char *gmt_input_read_text(const char *path);

#endif
