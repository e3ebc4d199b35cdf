/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_LIBC_H
#define GMT_INTERPOSE_LIBC_H

/*
 * The C library's own dlsym, dlvsym and dlerror. All three names are taken over, so they are read from
 * its symbol table and not looked up by any of them. Another preload may have taken them over too;
 * where it comes after this library, the program's look-ups go on to it.
 */

typedef void *gmt_dlsym_function(void *handle, const char *name);
typedef void *gmt_dlvsym_function(void *handle, const char *name, const char *version);
typedef char *gmt_dlerror_function(void);

struct gmt_libc {
	gmt_dlsym_function *dlsym;
	gmt_dlvsym_function *dlvsym;
	gmt_dlerror_function *dlerror;
	gmt_dlsym_function *dlsym_behind;   /* of the preload after ours, or NULL */
	gmt_dlvsym_function *dlvsym_behind; /* likewise */
};

/* Read only after gmt_libc_init. A function that was not found is NULL. */
extern struct gmt_libc gmt_libc;

/* Idempotent. From the constructor, or from the first look-up where that comes earlier: one thread. */
void gmt_libc_init(void);

#endif
