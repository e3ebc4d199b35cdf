/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_MODULE_TENSORS_H
#define GMT_ANALYSIS_HISTORY_MODULE_TENSORS_H

/*
 * Finds the blocks that hold the parameters, gradients, buffers and optimizer state of each module,
 * by the names that the recorder got from PyTorch ("layers.3.attn.weight"). One stack may allocate
 * blocks of many modules, so the module is looked up for each block and not for each stack. Part of
 * analysis/history. Data flow: marks -> module_tensors -> tables.
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
	uint32_t site;   /* index in the accounting */
	uint32_t module; /* id in `modules`: the first module that named the block */
	/* Number of other modules that named it: shared weights, or one buffer for many gradients. */
	uint32_t other_modules;
	uint8_t role;    /* enum gmt_history_role. */
	bool at_peak;    /* live when its account peaked */
	bool at_end;     /* live at the end of the program's work */
};

struct gmt_module_tensors {
	const struct gmt_recording *recording;
	size_t next_mark;        /* index in the recording's marks */
	struct gmt_intern modules; /* "layers.3.attn"; "" is the outermost module */
	GMT_VEC(struct gmt_module_tensor) items;
	struct gmt_map
		blocks; /* from a block's sequence number in the accounting to its index in `items` */
	struct gmt_map
		block_modules; /* set of pairs: index in `items`, and a module that named the block */
};

/* Returns the stamp of the next mark that names a tensor. UINT64_MAX: there are no more marks. */
uint64_t gmt_module_tensors_next_stamp(struct gmt_module_tensors *tensors);

/*
 * Processes the marks before `stamp`. The accounting must be in the state of that moment. Returns
 * false when out of memory.
 */
bool gmt_module_tensors_follow(struct gmt_module_tensors *tensors,
	const struct gmt_accounting *accounting, uint64_t stamp);

/* Sets at_peak for these blocks, which were live when their account peaked. */
void gmt_module_tensors_mark_peak(struct gmt_module_tensors *tensors,
	const struct gmt_peaks_blocks *blocks);

/*
 * Sets at_end for all live blocks of the accounting. Call when the replay has reached the end of
 * the program's work.
 */
void gmt_module_tensors_mark_end(struct gmt_module_tensors *tensors,
	const struct gmt_accounting *accounting);

void gmt_module_tensors_fini(struct gmt_module_tensors *tensors);

#endif
