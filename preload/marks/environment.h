/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_ENVIRONMENT_H
#define GMT_MARKS_ENVIRONMENT_H

/*
 * getenv, taken over for one name: NVTX loads the library that NVTX_INJECTION64_PATH names, and is told
 * that it is this one (nvtx.c). The environment itself is not changed: children, os.environ and env(1)
 * see what was there. All other names are libc's to answer.
 */

#include <stdbool.h>

/* From the constructor, after gmt_config_init. Without `may_answer` all names are libc's to answer. */
void gmt_environment_init(bool may_answer);

/* Whether NVTX is to be recorded. Any thread, also before the constructor. */
bool gmt_environment_is_answering(void);

/* What NVTX_INJECTION64_PATH is in the environment: the tool that was to be loaded. NULL: none. */
const char *gmt_environment_nvtx_tool(void);

#endif
