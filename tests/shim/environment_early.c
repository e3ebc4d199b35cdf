/* SPDX-License-Identifier: MIT */
/* A library that the loader initialises before the recorder: it asks for variables then. */
#include <stdlib.h>

__attribute__((visibility("default"))) const char *early_home, *early_nvtx;

__attribute__((constructor)) static void ask_early(void)
{
	early_home = getenv("HOME");
	early_nvtx = getenv("NVTX_INJECTION64_PATH");
}
