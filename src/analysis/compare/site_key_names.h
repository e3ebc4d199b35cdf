/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_COMPARE_SITE_KEY_NAMES_H
#define GMT_ANALYSIS_COMPARE_SITE_KEY_NAMES_H

/* Names of files and modules for site_key.h. Longer names are cut to `size`. */

#include <stddef.h>

/* Writes the name of a Python file. `directory` is the recorded working directory. */
void gmt_site_key_file(const char *directory, const char *path, char *ret_name, size_t size);

/* Writes the name of a library or program; "?" for "". */
void gmt_site_key_module(const char *path, char *ret_name, size_t size);

/*
 * Returns the part of `key` after the file's folder: "train.py:Model.forward" for
 * "pkg/train.py:Model.forward".
 */
const char *gmt_site_key_without_folder(const char *key);

#endif
