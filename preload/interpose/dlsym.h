/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_DLSYM_H
#define GMT_INTERPOSE_DLSYM_H

/*
 * Interposes dlsym and dlvsym. Static runtimes, ctypes, numba, cuda-python and PyTorch's lazy
 * driver calls use this route.
 *
 * The exported functions are assembly (dlsym_x86_64.S, dlsym_aarch64.S). They call the filter. If
 * the filter has no answer, they jump (not call) to the next dlsym. That function must see the true
 * caller's return address, because RTLD_NEXT and RTLD_DEFAULT depend on it.
 */

/*
 * The arguments of the look-up, in the layout of the assembly. The filter may change them before it
 * passes the look-up on.
 */
struct gmt_dlsym_request {
	void *handle;
	const char *name;
	const char *version; /* dlvsym only */
};

/* Returned in two registers. */
struct gmt_dlsym_decision {
	/*
	 * If answered, the result, which may be NULL. Otherwise the jump target, or NULL to return NULL
	 */
	void *address;
	long answered;
};

/* The exported functions under names that no other preload can replace. */
extern char gmt_wrap_dlsym[], gmt_wrap_dlvsym[];
char *gmt_wrap_dlerror(void);

/*
 * Decides a look-up. `caller` is the return address of dlsym. `is_versioned`: 1 for dlvsym, 0 for
 * dlsym.
 */
struct gmt_dlsym_decision gmt_dlsym_filter(struct gmt_dlsym_request *request, const void *caller,
	int is_versioned);

/* Remembers the handle that dlopen(NULL) returns. Call from the constructor. */
void gmt_dlsym_init(void);

#endif
