/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_NVTX_ENVIRONMENT_H
#define GMT_MARKS_NVTX_ENVIRONMENT_H

/*
 * Replaces getenv for one name. NVTX loads the library that NVTX_INJECTION64_PATH names; the
 * recorder answers with its own path (nvtx.c). The environment itself does not change: child
 * processes, os.environ and env(1) see the original value. libc answers for all other names.
 */

#include <stdbool.h>

/*
 * Call from the constructor, after gmt_config_init. Without `may_answer`, libc answers for all
 * names.
 */
void gmt_nvtx_environment_init(bool may_answer);

/* Returns whether NVTX is to be recorded. Any thread, also before the constructor. */
bool gmt_nvtx_environment_is_answering(void);

/*
 * Returns the value of NVTX_INJECTION64_PATH in the environment: the tool that NVTX would load
 * without the recorder. NULL: no tool.
 */
const char *gmt_nvtx_environment_tool(void);

#endif
