/* SPDX-License-Identifier: MIT */
#ifndef GMT_IMPORT_TORCH_TORCH_REWIND_H
#define GMT_IMPORT_TORCH_TORCH_REWIND_H

/*
 * The memory of one device in a snapshot. A snapshot has the state at its end, and the events
 * before it. What was alive before the first event follows from both: the events are undone from
 * the last one to the first one.
 *
 * PyTorch maps and unmaps parts of expandable segments. The addresses between two borders of such
 * parts are a *piece*. A piece is mapped or unmapped as a whole.
 */

#include "containers/map.h"
#include "containers/vec.h"
#include "import/torch/torch_snapshot.h"

/* A block, or a segment of cudaMalloc. */
struct gmt_torch_import_memory_block {
	uint64_t address, size_bytes, stream;
	const struct gmt_unpickled *frames;
	bool is_gone; /* while events are undone */
};

struct gmt_torch_import_blocks {
	GMT_VEC(struct gmt_torch_import_memory_block) items;
	struct gmt_map of_address; /* address to index of a block that is not gone */
};

struct gmt_torch_import_piece {
	uint64_t address, end;
	bool is_mapped;
	bool is_covered; /* it was or is mapped at some time */
	const struct gmt_unpickled *frames;
};

struct gmt_torch_import_device {
	uint32_t ordinal;
	GMT_VEC(struct gmt_torch_import_event) events;
	/* At first, live at the end. After gmt_torch_import_rewind: live before the first event. */
	struct gmt_torch_import_blocks segments, blocks;
	GMT_VEC(struct gmt_torch_import_memory_block) expandable; /* parts of segments at the end */
	GMT_VEC(struct gmt_torch_import_piece) pieces; /* by address */
	uint64_t end_bytes, end_blocks; /* blocks that live at the end, as the segments list them */
	uint64_t private_segments, private_bytes;
	bool has_segments;
	bool is_cut; /* PyTorch kept only the newest events */
};

/* Adds a block or segment that is live at the end. Returns false if memory is exhausted. */
bool gmt_torch_import_add_block(struct gmt_torch_import_blocks *blocks,
	const struct gmt_torch_import_memory_block *block);

/*
 * Undoes all events of a device. *work is the number of changes of pieces that are left; a snapshot
 * of PyTorch needs far fewer. Returns GMT_NO_MEMORY, or GMT_FORMAT if too few are left.
 */
enum gmt_status gmt_torch_import_rewind(struct gmt_torch_import_device *device, uint64_t *work,
	struct gmt_error *error);

/*
 * Returns the pieces from `address` on: the index of the first one, and the index after the last
 * one in `size_bytes`.
 */
size_t gmt_torch_import_pieces(const struct gmt_torch_import_device *device, uint64_t address,
	uint64_t size_bytes, size_t *ret_end);

void gmt_torch_import_device_fini(struct gmt_torch_import_device *device);

#endif
