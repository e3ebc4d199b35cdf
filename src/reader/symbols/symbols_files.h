/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_FILES_H
#define GMT_READER_SYMBOLS_SYMBOLS_FILES_H

/*
 * Files with the symbols of a build-id, from the folders that the user names and the system's folder
 * for debug files. In each folder: .build-id/xx/yyyy.debug and .build-id/xx/yyyy, and, in folders
 * that the user names, every ELF file below them that has that build-id. One thread.
 */

#include <stdbool.h>
#include <stddef.h>

struct gmt_symbol_files;

/* `directories` stay the caller's. NULL when out of memory. */
struct gmt_symbol_files *gmt_symbol_files_open(const char *const *directories, size_t count);

/*
 * Calls `visit` with the path of each file that may have this build-id (the visitor checks), until
 * it answers false.
 */
void gmt_symbol_files_find(struct gmt_symbol_files *files, const char *build_id,
	bool (*visit)(void *user, const char *path), void *user);

/* `files` may be NULL. */
void gmt_symbol_files_close(struct gmt_symbol_files *files);

#endif
