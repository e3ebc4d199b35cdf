/* SPDX-License-Identifier: MIT */
#ifndef GMT_FORMAT_RECORDER_VERSION_H
#define GMT_FORMAT_RECORDER_VERSION_H

/*
 * The file libgpumemtrace.so contains this text, followed by its version and a NUL byte. The
 * program finds the version there without loading the library.
 */
#define GMT_RECORDER_VERSION_MARK "gpumemtrace recorder, version "

#endif
