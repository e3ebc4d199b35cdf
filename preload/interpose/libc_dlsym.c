/* SPDX-License-Identifier: MIT */
#include "interpose/libc_dlsym.h"

#include <dlfcn.h>
#include <stddef.h>

#include "interpose/elf_symbols.h"

struct gmt_libc gmt_libc;

/* Before glibc 2.34, these functions were in libdl. */
static void *find(const char *name)
{
	void *found = gmt_elf_symbol_in_library("libc.so.6", name);

	return found ? found : gmt_elf_symbol_in_library("libdl.so.2", name);
}

void gmt_libc_init(void)
{
	if (gmt_libc.dlsym)
		return;
	gmt_libc.dlvsym = (gmt_dlvsym_function *)find("dlvsym");
	gmt_libc.dlerror = (gmt_dlerror_function *)find("dlerror");

	gmt_dlsym_function *own = (gmt_dlsym_function *)find("dlsym");

	if (!own)
		return;

	void *next = own(RTLD_NEXT, "dlsym"), *versioned = own(RTLD_NEXT, "dlvsym");

	gmt_libc.dlsym_after_recorder = next == (void *)own ? NULL : (gmt_dlsym_function *)next;
	gmt_libc.dlvsym_after_recorder =
		versioned == (void *)gmt_libc.dlvsym ? NULL : (gmt_dlvsym_function *)versioned;
	gmt_libc.dlsym = own;
}
