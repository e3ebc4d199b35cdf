/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_NVTX_MEMORY_H
#define GMT_MARKS_NVTX_MEMORY_H

/*
 * The NVTX extension for memory. Heaps that a program registers become custom heaps, and their
 * regions become blocks (custom_heaps.h). In the flow: a copy of NVTX -> nvtx.c -> nvtx_memory ->
 * custom_heaps.
 */

typedef int gmt_nvtx_extension_function(void *module);

/*
 * Call when a copy of NVTX starts an extension. `tool` is another tool's function for that event,
 * or NULL; it is called first. Returns 1 if the recorder or the tool handles this extension.
 * Returns 0 otherwise: NVTX then makes no calls.
 */
int gmt_nvtx_memory_init(void *module, gmt_nvtx_extension_function *tool);

#endif
