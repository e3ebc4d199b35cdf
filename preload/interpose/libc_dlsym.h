/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_LIBC_DLSYM_H
#define GMT_INTERPOSE_LIBC_DLSYM_H

/*
 * The C library's own dlsym, dlvsym and dlerror. The recorder replaces all three, so it finds the
 * originals in the C library's symbol table. Another preload may also replace them. If that preload
 * comes after the recorder, the recorder passes the program's look-ups on to it.
 */

typedef void *gmt_dlsym_function(void *handle, const char *name);
typedef void *gmt_dlvsym_function(void *handle, const char *name, const char *version);
typedef char *gmt_dlerror_function(void);

struct gmt_libc {
	gmt_dlsym_function *dlsym;
	gmt_dlvsym_function *dlvsym;
	gmt_dlerror_function *dlerror;
	gmt_dlsym_function *dlsym_after_recorder;   /* of the preload after the recorder, or NULL */
	gmt_dlvsym_function *dlvsym_after_recorder; /* of the preload after the recorder, or NULL */
};

/* Read only after gmt_libc_init. NULL: the function was not found. */
extern struct gmt_libc gmt_libc;

/*
 * Finds the functions. Idempotent. Call it from the constructor, or from the first look-up if that
 * comes earlier: in both cases only one thread exists.
 */
void gmt_libc_init(void);

#endif
