/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_RECORDING_RECORDED_PROGRAM_H
#define GMT_ANALYSIS_RECORDING_RECORDED_PROGRAM_H

#include "reader/load/recording.h"

/*
 * Returns the name by which the user knows the recorded program: the Python script or module
 * without its folder, else the program; if neither is known, the name of the recording. Borrowed
 * from the recording, of any length. It is untrusted text.
 */
const char *gmt_recorded_program(const struct gmt_recording *recording);

#endif
