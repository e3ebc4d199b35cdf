/* SPDX-License-Identifier: MIT */
#ifndef GMT_INTERPOSE_DLSYM_H
#define GMT_INTERPOSE_DLSYM_H

/*
 * The route by dlsym and dlvsym: static runtimes, ctypes, numba, cuda-python, PyTorch's lazy driver
 * calls.
 *
 * The exported functions are assembly (dlsym_x86_64.S, dlsym_aarch64.S): they ask the filter, and
 * unless that has an answer they jump, not call, to the next one, which must see the true caller's
 * return address to know what RTLD_NEXT and RTLD_DEFAULT mean.
 */

/* What was asked for, as the stub keeps it; a filter that passes may have changed it. */
struct gmt_dlsym_request {
	void *handle;
	const char *name;
	const char *version; /* dlvsym only */
};

/* Returned in two registers. */
struct gmt_dlsym_verdict {
	void *address; /* answered: what to return, also NULL. Else where to jump; NULL: return NULL */
	long answered;
};

/* The exported functions by names that no other preload can take. */
extern char gmt_wrap_dlsym[], gmt_wrap_dlvsym[];
char *gmt_wrap_dlerror(void);

/* `is_versioned`: 1 for dlvsym, 0 for dlsym. */
struct gmt_dlsym_verdict gmt_dlsym_filter(struct gmt_dlsym_request *request, const void *caller, int is_versioned);

/*
 * What is put behind a name that must not be found, and dlerror takes away again (dlerror.c). Without a
 * meaning in any name, and hardly to be seen where a caller has the C library's own dlerror.
 */
#define GMT_ABSENT_MARK ' '

/*
 * The name with its mark that this thread's last dlsym went on with, or "". Written on by the next dlsym.
 */
const char *gmt_dlsym_absent_name(void);

/* Remembers the handle that dlopen(NULL) gives. Called from the constructor. */
void gmt_dlsym_init(void);

#endif
