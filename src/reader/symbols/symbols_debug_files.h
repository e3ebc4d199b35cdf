/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_DEBUG_FILES_H
#define GMT_READER_SYMBOLS_SYMBOLS_DEBUG_FILES_H

/*
 * Finds files with the symbols of a build-id, in the folders that the user names and in the
 * system's folder for debug files. In each folder, tries .build-id/xx/yyyy.debug and
 * .build-id/xx/yyyy. In the user's folders, also tries every ELF file below them that has the
 * build-id.
 *
 * For one thread.
 */

#include <stdbool.h>
#include <stddef.h>

struct gmt_symbols_debug_files;

/* Prepares a search. `directories` is borrowed. Returns NULL when out of memory. */
struct gmt_symbols_debug_files *gmt_symbols_debug_files_open(const char *const *directories,
	size_t count);

/*
 * Calls `visit` with the path of each file that may have this build-id, until `visit` returns
 * false. `visit` must check the build-id.
 */
void gmt_symbols_debug_files_find(struct gmt_symbols_debug_files *files, const char *build_id,
	bool (*visit)(void *user, const char *path), void *user);

/* Frees the search. `files` may be NULL. */
void gmt_symbols_debug_files_close(struct gmt_symbols_debug_files *files);

#endif
