/* SPDX-License-Identifier: MIT */
#ifndef GMT_SYSTEM_RECORDING_NAME_H
#define GMT_SYSTEM_RECORDING_NAME_H

/*
 * Names of recordings. A number precedes the suffix, so that `*.gmt.gz` matches every recording of
 * a folder: train.gmt.gz, train.1.gmt.gz, train.2.gmt.gz. No state; any thread, also in the
 * recorder.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns where the suffix of `path` begins: ".gmt.gz", else ".gz", else the end of the text. */
const char *gmt_recording_name_suffix(const char *path);

/*
 * Inserts `number` before the suffix of `path`: 2 turns "train.gmt.gz" into "train.2.gmt.gz".
 * `bytes` is the size of the array. Returns false if the name does not fit; then it is unchanged.
 */
bool gmt_recording_name_number(char *path, size_t bytes, uint32_t number);

/*
 * Returns whether the name ends like a recording's name: ".gmt.gz", or ".gmt.gz.1" as older
 * recorders numbered them.
 */
bool gmt_recording_name_matches(const char *path);

#endif
