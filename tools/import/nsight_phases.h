/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_IMPORT_NSIGHT_PHASES_H
#define GMT_TOOLS_IMPORT_NSIGHT_PHASES_H

#include "tools/import/nsight_writer.h"

/* Writes the ranges of NVTX as phases, and its marks. Returns false if memory is exhausted. */
bool gmt_nsight_write_phases(struct gmt_nsight_writer *writer);

#endif
