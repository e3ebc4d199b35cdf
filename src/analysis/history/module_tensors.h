/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_MODULE_TENSORS_H
#define GMT_ANALYSIS_HISTORY_MODULE_TENSORS_H

/*
 * Finds the blocks that hold the parameters, gradients, buffers and optimizer state of each module,
 * by the names that the recorder got from PyTorch ("layers.3.attn.weight"). One stack makes blocks
 * of many modules, so each block is looked up alone. Part of analysis/history. Data flow: marks ->
 * module_tensors -> tables.
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
	uint32_t site;   /* Index in the accounting. */
	uint32_t module; /* Id in `modules`: the first module that named the block. */
	/* Number of other modules that named it: shared weights, or one buffer for many gradients. */
	uint32_t others;
	uint8_t role;    /* enum gmt_history_role. */
	bool at_peak;    /* Lived when its account peaked. */
	bool at_end;     /* Lived at the end of the program's work. */
};

struct gmt_module_tensors {
	const struct gmt_snapshot *snapshot;
	size_t next;             /* Index of the next mark. */
	struct gmt_intern modules; /* "layers.3.attn"; "" is the outermost module. */
	GMT_VEC(struct gmt_module_tensor) items;
	struct gmt_map blocks; /* Sequence number of a block in the accounting to index in `items`. */
	struct gmt_map namings; /* Set of pairs that were seen: index in `items` and module. */
};

/* Returns the stamp of the next mark that names a tensor. UINT64_MAX: there are no more marks. */
uint64_t gmt_module_tensors_next(struct gmt_module_tensors *tensors);

/*
 * Processes the marks before `stamp`. The accounting must be in the state of that moment. False
 * when out of memory.
 */
bool gmt_module_tensors_follow(struct gmt_module_tensors *tensors,
	const struct gmt_accounting *accounting, uint64_t stamp);

/* Marks these blocks as alive at their account's peak. */
void gmt_module_tensors_add_peak(struct gmt_module_tensors *tensors,
	const struct gmt_peaks_blocks *blocks);

/*
 * Marks all blocks in the accounting as alive at the end. Called at the end of the program's work.
 */
void gmt_module_tensors_take_end(struct gmt_module_tensors *tensors,
	const struct gmt_accounting *accounting);

void gmt_module_tensors_fini(struct gmt_module_tensors *tensors);

#endif
