/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_LIBC_DLSYM_H
#define GMT_INTERPOSE_LIBC_DLSYM_H

/*
 * The C library's own dlsym, dlvsym and dlerror. The recorder replaces all three names, so it
 * cannot find the originals with them: it reads the C library's symbol table. Another preload may
 * replace these names too. If it comes after this library, the program's look-ups go on to that
 * preload.
 */

typedef void *gmt_dlsym_function(void *handle, const char *name);
typedef void *gmt_dlvsym_function(void *handle, const char *name, const char *version);
typedef char *gmt_dlerror_function(void);

struct gmt_libc {
	gmt_dlsym_function *dlsym;
	gmt_dlvsym_function *dlvsym;
	gmt_dlerror_function *dlerror;
	gmt_dlsym_function *dlsym_after_recorder;   /* of the preload after ours, or NULL */
	gmt_dlvsym_function *dlvsym_after_recorder; /* of the preload after ours, or NULL */
};

/* Read only after gmt_libc_init. NULL: the function was not found. */
extern struct gmt_libc gmt_libc;

/*
 * Idempotent. Call from the constructor, or from the first look-up if that comes earlier: in one
 * thread.
 */
void gmt_libc_init(void);

#endif
