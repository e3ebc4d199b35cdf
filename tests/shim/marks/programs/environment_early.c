/* SPDX-License-Identifier: MIT */
/* A library that the loader initialises before the recorder: it asks for variables then. */
#include <stdlib.h>

__attribute__((visibility("default"))) const char *early_word, *early_nvtx;

__attribute__((constructor)) static void ask_early(void)
{
	early_word = getenv("EARLY");
	early_nvtx = getenv("NVTX_INJECTION64_PATH");
}
