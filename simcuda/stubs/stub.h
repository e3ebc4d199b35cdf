/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_STUB_H
#define SIMCUDA_STUB_H

/*
 * Answers of stub libraries, where "success" alone would make the caller behave differently than on
 * a real device. Each file is named after one library: nccl.c is for libnccl.so. make_stubs.py
 * compiles the file into the stub library of that name and generates the other functions itself.
 * The files do not use NVIDIA's types: an answer declares only the parameters that it reads or
 * writes.
 *
 * STUB_MAJOR is the number at the end of the library's name, for example 12 in libcublas.so.12.
 */
#include <stddef.h>

/* Defines a function that makes an object. The caller gets a handle that is not null. */
#define MAKES(function) \
	long function(void **ret_handle) \
	{ \
		static char made; \
\
		*ret_handle = &made; \
		return 0; \
	}

/* Defines a function that writes one number through its only parameter, or its second parameter. */
#define ANSWERS(function, number) \
	long function(int *ret_number) \
	{ \
		*ret_number = (number); \
		return 0; \
	}

#define ANSWERS_OF(function, number) \
	long function(void *handle, int *ret_number) \
	{ \
		(void)handle; \
		*ret_number = (number); \
		return 0; \
	}

/* ...GetProperty(which, ret_number): 0 is the major, 1 the minor version, 2 the patch level. */
#define HAS_VERSION(function, major, minor) \
	long function(int which, int *ret_number) \
	{ \
		*ret_number = which == 0 ? (major) : which == 1 ? (minor) : 0; \
		return 0; \
	}

#endif
