/* SPDX-License-Identifier: MIT */
#ifndef GMT_READER_SYMBOLS_SYMBOLS_FOLDER_H
#define GMT_READER_SYMBOLS_SYMBOLS_FOLDER_H

/*
 * The folder of symbols_cache.h: small files that are replaced whole, of which the oldest go. Nothing in it is
 * believed but what is this user's alone, and no link is followed. One thread.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GMT_SYMBOLS_FOLDER_NAME_BYTES = 192,
	GMT_SYMBOLS_FOLDER_MAX_FILES = 512,
	GMT_SYMBOLS_FOLDER_MAX_BYTES = 64 << 20,
};

struct gmt_symbols_folder {
	char base[PATH_MAX];   /* $XDG_CACHE_HOME, or ~/.cache */
	int fd_plus_1;         /* of the folder; 0: not there, or not usable */
	bool was_made;         /* whether making it was tried */
	bool is_changed;       /* something was written */
};

/* Says where it is, and opens it when it is there. False where there is no place for it. */
bool gmt_symbols_folder_find(struct gmt_symbols_folder *ret_folder);

/*
 * All of a file of at most `max_bytes`, and notes that it was used; to be freed with gmt_pages_free. NULL where it is
 * not there, is empty, larger, not this user's alone, or no plain file.
 */
uint8_t *gmt_symbols_folder_read(const struct gmt_symbols_folder *folder, const char *name, size_t max_bytes,
	size_t *ret_size);

/* Puts a file in the place of the one of that name, all at once, or does nothing. Makes the folder. */
void gmt_symbols_folder_write(struct gmt_symbols_folder *folder, const char *name, const void *bytes, size_t size);

/* Removes what was used least lately, where something was written and there is too much. A zeroed one may be closed. */
void gmt_symbols_folder_close(struct gmt_symbols_folder *folder);

#endif
