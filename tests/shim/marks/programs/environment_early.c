/* SPDX-License-Identifier: MIT */
/* A library that reads variables in its constructor, which runs before the recorder's. */
#include <stdlib.h>

__attribute__((visibility("default"))) const char *early_word, *early_nvtx;

__attribute__((constructor)) static void ask_early(void)
{
	early_word = getenv("EARLY");
	early_nvtx = getenv("NVTX_INJECTION64_PATH");
}
