/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_IMPORT_NSIGHT_PHASES_H
#define GMT_TOOLS_IMPORT_NSIGHT_PHASES_H

#include "tools/import/nsight_writer.h"

/* Writes NVTX ranges as phases, and NVTX marks as marks. Returns false when out of memory. */
bool gmt_nsight_write_phases(struct gmt_nsight_writer *writer);

#endif
