/* SPDX-License-Identifier: MIT */
#ifndef SIMCUDA_STUB_H
#define SIMCUDA_STUB_H

/*
 * Functions of stub libraries that must do more than return success, because their callers would
 * otherwise behave differently than on a real device. Each file is named after one library: nccl.c
 * is for libnccl.so. make_stubs.py compiles the file into the stub library of that name and
 * generates the other functions itself. The files do not use NVIDIA's types: a function declares
 * only the parameters up to the last that it reads or writes.
 *
 * STUB_MAJOR is the number at the end of the library's name, for example 12 in libcublas.so.12.
 */
#include <stddef.h>

/* Defines function(ret_handle), which creates an object: its handle is not null. */
#define DEFINE_CREATE(function) \
	long function(void **ret_handle) \
	{ \
		static char object; \
\
		*ret_handle = &object; \
		return 0; \
	}

/* Defines function(ret_number), which stores `number`. */
#define DEFINE_GET(function, number) \
	long function(int *ret_number) \
	{ \
		*ret_number = (number); \
		return 0; \
	}

/* Defines function(handle, ret_number), which stores `number`. */
#define DEFINE_GET_OF_HANDLE(function, number) \
	long function(void *handle, int *ret_number) \
	{ \
		(void)handle; \
		*ret_number = (number); \
		return 0; \
	}

/*
 * Defines ...GetProperty(which, ret_number), which stores a part of the library's version. `which`:
 * 0 is the major version, 1 the minor version, 2 the patch level.
 */
#define DEFINE_GET_PROPERTY(function, major, minor) \
	long function(int which, int *ret_number) \
	{ \
		*ret_number = which == 0 ? (major) : which == 1 ? (minor) : 0; \
		return 0; \
	}

#endif
