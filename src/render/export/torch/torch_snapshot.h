/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_EXPORT_TORCH_TORCH_SNAPSHOT_H
#define GMT_RENDER_EXPORT_TORCH_TORCH_SNAPSHOT_H

/*
 * A memory snapshot of PyTorch (torch.cuda.memory._snapshot()). torch_events.c turns a replay into
 * the events of a snapshot. torch_snapshot.c writes them, and the state at the end.
 */

#include "analysis/allocator/allocator.h"
#include "containers/map.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "render/export/export.h"

#define GMT_TORCH_NO_STACK UINT32_MAX

enum gmt_torch_action {
	GMT_TORCH_ALLOC,
	GMT_TORCH_FREE_REQUESTED,
	GMT_TORCH_FREE_COMPLETED,
	GMT_TORCH_SEGMENT_ALLOC,
	GMT_TORCH_SEGMENT_FREE,
	GMT_TORCH_SEGMENT_MAP,
	GMT_TORCH_SEGMENT_UNMAP,
	GMT_TORCH_OOM,
	GMT_TORCH_ACTIONS,
};

struct gmt_torch_event {
	enum gmt_torch_action action;
	int16_t device;
	uint32_t stack; /* id in traces->stacks, or GMT_TORCH_NO_STACK */
	uint32_t site_plus_1; /* of the block; 0: the event has no block */
	uint64_t address; /* for an oom: the device's free memory */
	uint64_t size_bytes;
	uint64_t stamp;
};

/* Memory in which blocks lie. */
struct gmt_torch_segment {
	uint64_t address, size_bytes; /* size_bytes 0: the row is unused */
	uint32_t stack;
	uint32_t next_free_plus_1;
	int16_t device;
	bool is_page; /* a part of an expandable segment */
	bool is_own;  /* made for one block, which lies in no known segment */
};

/* Makes the events of one replay. Zero-initialise, then call gmt_torch_events_run. */
struct gmt_torch_events {
	const struct gmt_export *export;
	/* Takes an event. Returns false when out of memory. */
	bool (*take)(void *user, const struct gmt_torch_event *event);
	void *user;
	/* The state after the replay: segments with size_bytes above 0, and the live blocks. */
	GMT_VEC(struct gmt_torch_segment) segments;
	struct gmt_replay replay;
	/* Internal. */
	struct gmt_map segment_ids; /* address to index in segments */
	uint32_t free_plus_1;
	struct gmt_allocator allocator;
	struct gmt_map free_bytes; /* stamp of a refusal to the device's free memory */
};

/* Replays the recording. Set `export`, `take` and `user` before. */
enum gmt_status gmt_torch_events_run(struct gmt_torch_events *events, struct gmt_error *error);

void gmt_torch_events_fini(struct gmt_torch_events *events);

/*
 * Returns the address of a block in the snapshot. Handles of CUDA arrays and the like are no
 * addresses: they get addresses that no device has.
 */
uint64_t gmt_torch_address(uint64_t address, uint32_t space);

#endif
