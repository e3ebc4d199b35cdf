/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "stub.h"

/* Every compilation returns this image. The simulated device finds any function in it. */
static const char compiled_image[] = "simulated";

DEFINE_CREATE(nvrtcCreateProgram)

long nvrtcVersion(int *ret_major, int *ret_minor)
{
	*ret_major = STUB_MAJOR;
	*ret_minor = STUB_MAJOR == 12 ? 9 : 2;
	return 0;
}

static const int architectures[] = { 75, 80, 86, 89, 90, 100, 120 };

DEFINE_GET(nvrtcGetNumSupportedArchs, sizeof(architectures) / sizeof(architectures[0]))

long nvrtcGetSupportedArchs(int *ret_architectures)
{
	memcpy(ret_architectures, architectures, sizeof(architectures));
	return 0;
}

/* Defines two functions for a text: one returns its size in bytes, and the other one writes it. */
#define DEFINE_GET_TEXT(function, text) \
	long function##Size(void *program, size_t *ret_size_bytes) \
	{ \
		(void)program; \
		*ret_size_bytes = sizeof(text); \
		return 0; \
	} \
	long function(void *program, char *ret_bytes) \
	{ \
		(void)program; \
		memcpy(ret_bytes, text, sizeof(text)); \
		return 0; \
	}

DEFINE_GET_TEXT(nvrtcGetCUBIN, compiled_image)
DEFINE_GET_TEXT(nvrtcGetPTX, compiled_image)
DEFINE_GET_TEXT(nvrtcGetProgramLog, "")

/* Returns `name` itself as the mangled name: the image has every name. */
long nvrtcGetLoweredName(void *program, const char *name, const char **ret_name)
{
	(void)program;
	*ret_name = name;
	return 0;
}
