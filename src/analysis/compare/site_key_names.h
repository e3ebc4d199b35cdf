/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_COMPARE_SITE_KEY_NAMES_H
#define GMT_ANALYSIS_COMPARE_SITE_KEY_NAMES_H

/* What files and modules are called in the names of site_key.h. Longer names are cut to `size`. */

#include <stddef.h>

/* A Python file; `directory` is the recorded working directory. */
void gmt_site_key_file(const char *directory, const char *path, char *ret_name, size_t size);

/* A library or program; "?" for "". */
void gmt_site_key_module(const char *path, char *ret_name, size_t size);

/* "train.py:Model.forward" of "pkg/train.py:Model.forward": the part of `key` behind the file's folder. */
const char *gmt_site_key_without_folder(const char *key);

#endif
