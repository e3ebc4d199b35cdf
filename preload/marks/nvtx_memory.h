/* SPDX-License-Identifier: MIT */
#ifndef GMT_MARKS_NVTX_MEMORY_H
#define GMT_MARKS_NVTX_MEMORY_H

/*
 * NVTX's extension for memory: heaps that a program registers, and their regions, are pools and blocks
 * (heaps.h). In the flow: a copy of NVTX -> nvtx.c -> here -> heaps.
 */

typedef int gmt_nvtx_extension_function(void *module);

/*
 * A copy of NVTX starts an extension, and `tool` (may be NULL) is another tool's function for that, which
 * is asked first. Returns 1 when anybody listens to this extension; 0: nobody does, and NVTX calls nobody.
 */
int gmt_nvtx_memory_init(void *module, gmt_nvtx_extension_function *tool);

#endif
