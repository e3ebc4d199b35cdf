/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_CACHE_FOLDER_H
#define GMT_READER_SYMBOLS_SYMBOLS_CACHE_FOLDER_H

/*
 * The folder of symbols_cache.h. It has small files that are always replaced as a whole. The oldest
 * are deleted. Files and folders that do not belong to this user alone are not trusted. Links are
 * not followed, except at the base folder.
 *
 * For one thread.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GMT_SYMBOLS_CACHE_FOLDER_NAME_BYTES = 192,
	GMT_SYMBOLS_CACHE_FOLDER_MAX_FILES = 512,
	GMT_SYMBOLS_CACHE_FOLDER_MAX_BYTES = 64 << 20,
};

struct gmt_symbols_cache_folder {
	char base[PATH_MAX];   /* $XDG_CACHE_HOME, or ~/.cache */
	int fd_plus_1;         /* of the folder; 0: it does not exist, or is unusable */
	bool was_made;         /* this run has already tried to create the folder */
	bool is_changed;       /* a file was written */
};

/*
 * Finds the folder, and opens it if it exists. Returns false if neither XDG_CACHE_HOME nor HOME
 * gives a usable absolute path.
 */
bool gmt_symbols_cache_folder_find(struct gmt_symbols_cache_folder *ret_folder);

/*
 * Reads a whole file of at most `max_bytes`, and marks it as used. The caller frees the result with
 * gmt_pages_free. Returns NULL if the file is missing, empty, larger, not a plain file, or does not
 * belong to this user alone.
 */
uint8_t *gmt_symbols_cache_folder_read(const struct gmt_symbols_cache_folder *folder,
	const char *name, size_t max_bytes, size_t *ret_size);

/*
 * Replaces the file `name` atomically, or creates it. Creates the folder if needed. Does nothing on
 * failure.
 */
void gmt_symbols_cache_folder_write(struct gmt_symbols_cache_folder *folder, const char *name,
	const void *bytes, size_t size);

/*
 * Deletes the least recently used files, if a file was written and there are too many. A zeroed
 * folder may be closed.
 */
void gmt_symbols_cache_folder_close(struct gmt_symbols_cache_folder *folder);

#endif
