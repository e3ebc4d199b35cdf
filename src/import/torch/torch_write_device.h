/* SPDX-License-Identifier: MIT */
#ifndef GMT_IMPORT_TORCH_TORCH_WRITE_DEVICE_H
#define GMT_IMPORT_TORCH_TORCH_WRITE_DEVICE_H

#include "import/torch/torch_rewind.h"
#include "import/torch/torch_stacks.h"

struct gmt_torch_import_output {
	struct gmt_torch_import_stacks *stacks;
	uint64_t start_us;      /* time of the first event of all devices */
	uint64_t next_handle;   /* number of the next piece of physical memory; from 1 */
	uint64_t last_stamp;    /* largest stamp so far */
	uint32_t step_thread;   /* thread whose events have the steps; 0: none so far */
	uint64_t *work;         /* as in gmt_torch_import_rewind */
	/* Results, for notes. */
	uint64_t early_blocks, early_bytes;   /* blocks that were live before the first event */
	uint64_t early_without_stack;
	uint64_t end_blocks, end_bytes;       /* live after the last event of the device */
	uint64_t unknown_actions;
};

/*
 * Writes the thread, the blocks and the events of a device, after gmt_torch_import_rewind. Returns
 * GMT_NO_MEMORY also if the writer failed.
 */
enum gmt_status gmt_torch_import_write_device(struct gmt_torch_import_output *output,
	struct gmt_torch_import_device *device, struct gmt_error *error);

#endif
