/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_MODULE_TENSORS_H
#define GMT_ANALYSIS_HISTORY_MODULE_TENSORS_H

/*
 * The blocks that a module's parameters, gradients, buffers and optimizer state lie in, by the names that the recorder got
 * from PyTorch ("layers.3.attn.weight"). A stack makes blocks of many modules, so each block is looked at alone.
 * Part of analysis/where: marks -> module_tensors -> tables.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/history/history.h"
#include "analysis/history/peaks.h"
#include "containers/intern.h"
#include "containers/map.h"
#include "containers/vec.h"

struct gmt_module_tensor {
	uint64_t size_bytes;
	uint32_t site;   /* in the books */
	uint32_t module; /* id in `modules`: the first that named it */
	uint32_t others; /* modules that named it too: shared weights, or one buffer for many gradients */
	uint8_t role;    /* enum gmt_history_role */
	bool at_peak;    /* lived when its account peaked */
	bool at_end;     /* lived at the end of the program's work */
};

struct gmt_module_tensors {
	const struct gmt_snapshot *snapshot;
	size_t next;             /* the next mark of all */
	struct gmt_intern modules; /* "layers.3.attn"; "": the outermost one */
	GMT_VEC(struct gmt_module_tensor) items;
	struct gmt_map blocks;   /* a block's sequence in the books to index in items */
	struct gmt_map namings;  /* index in items and module: such a pair was seen */
};

/* The stamp of the next mark that names a tensor; UINT64_MAX: there is none. */
uint64_t gmt_module_tensors_next(struct gmt_module_tensors *tensors);

/* Takes the marks before `stamp`; the books speak of that moment. False when out of memory. */
bool gmt_module_tensors_follow(struct gmt_module_tensors *tensors, const struct gmt_accounting *accounting, uint64_t stamp);

/* These blocks lived at their account's peak. */
void gmt_module_tensors_add_peak(struct gmt_module_tensors *tensors, const struct gmt_peaks_blocks *blocks);

/* This is the end of the program's work: what is in the books lives. */
void gmt_module_tensors_take_end(struct gmt_module_tensors *tensors, const struct gmt_accounting *accounting);

void gmt_module_tensors_fini(struct gmt_module_tensors *tensors);

#endif
