/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_NEWEST_RECORDING_H
#define GMT_TOOLS_RECORDINGS_NEWEST_RECORDING_H

/*
 * Gives a verb without operands the newest recording of the working directory, and says so on
 * stderr: sets *argc to 1 and argv[0] to its path, which lives as long as the program. Does nothing
 * if there are operands. If there is no recording, prints an error of `verb` and returns false.
 */
#include <stdbool.h>

bool gmt_newest_recording_instead(const char *verb, int *argc, char **argv);

#endif
