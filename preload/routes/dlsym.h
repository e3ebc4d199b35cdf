/* SPDX-License-Identifier: MIT */
#ifndef GMT_ROUTES_DLSYM_H
#define GMT_ROUTES_DLSYM_H

/*
 * The route by dlsym: static runtimes, ctypes, numba, cuda-python, PyTorch's lazy driver calls.
 *
 * The exported dlsym is assembly (dlsym_x86_64.S, dlsym_aarch64.S): it asks the filter, and unless
 * that has an answer it jumps, not calls, to the real one, which must see the true caller's return
 * address to know what RTLD_NEXT and RTLD_DEFAULT mean.
 */

/* Returned in two registers; the stub looks at `answered` only. */
struct gmt_dlsym_verdict {
	void *address;
	long answered; /* 1: return `address`, also NULL. 0: let the real dlsym decide */
};

struct gmt_dlsym_verdict gmt_dlsym_filter(void *handle, const char *name, const void *caller);

/* Remembers the handle that dlopen(NULL) gives. Called from the constructor. */
void gmt_dlsym_init(void);

#endif
