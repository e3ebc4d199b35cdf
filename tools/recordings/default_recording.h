/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_DEFAULT_RECORDING_H
#define GMT_TOOLS_RECORDINGS_DEFAULT_RECORDING_H

#include <stdbool.h>
/*
 * Gives a verb without operands the newest recording of the working directory, and prints a hint:
 * sets *argc to 1 and argv[0] to the path, which is valid until the program ends. Does nothing if
 * *argc is not 0. If the folder has no recording, prints an error of `verb` and returns false.
 */
bool gmt_default_recording(const char *verb, int *argc, char **argv);

#endif
