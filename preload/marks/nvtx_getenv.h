/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_NVTX_GETENV_H
#define GMT_MARKS_NVTX_GETENV_H

/*
 * Replaces getenv for one name. NVTX loads the library that NVTX_INJECTION64_PATH names. For this
 * name, the recorder's getenv returns the path of the recorder (nvtx.c). For all other names it
 * calls libc's getenv. The environment itself does not change: child processes, os.environ and
 * env(1) see the original value.
 */

#include <stdbool.h>

/*
 * Call from the constructor, after gmt_config_init. Without `may_replace`, getenv is libc's for all
 * names.
 */
void gmt_nvtx_getenv_init(bool may_replace);

/* Returns whether the recorder records NVTX. Any thread, also before the constructor. */
bool gmt_nvtx_getenv_is_replaced(void);

/*
 * Returns the value of NVTX_INJECTION64_PATH in the environment: the tool that NVTX would load
 * without the recorder. NULL: no tool.
 */
const char *gmt_nvtx_getenv_tool(void);

#endif
