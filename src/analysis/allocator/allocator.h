/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_ALLOCATOR_H
#define GMT_ANALYSIS_ALLOCATOR_ALLOCATOR_H

/*
 * What PyTorch's caching allocator did, told from its blocks and from the memory of the driver that they
 * lie in: its segments, its own statistics, and what it gave back to the driver. In the flow:
 * replay -> allocator -> segments, renderers.
 *
 * A segment is a block of layer cuda that a block of layer torch lies, or lay, in. PyTorch never gets
 * one without putting a block into it at once, so that no stack is needed to know them. Likewise, reserved
 * addresses with such a block are an expandable segment, whose pages all are PyTorch's. PyTorch counts no
 * segments and no splits in these, since what is free there can always be given back page by page.
 *
 * Small pool and large pool: requests up to 1 MiB are served from segments of 2 MiB, all others from
 * larger ones (c10/cuda/CUDACachingAllocator.cpp, from PyTorch 1.0 to 2.15). Pages are 2 MiB or larger likewise.
 *
 * Not known: blocks that wait for another stream after their free (Tensor.record_stream) count as free
 * here.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/allocator/allocator_memory.h"
#include "containers/map.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/steps/timeline.h"

enum gmt_allocator_row {
#define GMT_ALLOCATOR_ROW(NAME, key, title, in_bytes) GMT_ALLOCATOR_##NAME,
#include "analysis/allocator/allocator_rows.def"
#undef GMT_ALLOCATOR_ROW
	GMT_ALLOCATOR_ROWS,
};

enum gmt_allocator_pool { GMT_POOL_ALL, GMT_POOL_LARGE, GMT_POOL_SMALL, GMT_ALLOCATOR_POOLS };

struct gmt_allocator_stat {
	uint64_t current, peak;
	uint64_t allocated, freed; /* sums over all time */
};

/* Segments without a block that went back to the driver together. */
struct gmt_give_back {
	uint64_t stamp; /* of the first */
	uint64_t bytes, segments; /* or pages */
	uint64_t again_bytes;   /* of that, got anew before the next time, within GMT_AGAIN_STEPS steps */
	bool after_refusal; /* the driver had just refused a request */
};

enum { GMT_AGAIN_STEPS = 3, GMT_GIVE_BACKS_KEPT = 1000 };

struct gmt_allocator_device {
	int16_t device;
	struct gmt_allocator_stat stats[GMT_ALLOCATOR_ROWS][GMT_ALLOCATOR_POOLS];
	GMT_VEC(struct gmt_give_back) give_backs; /* the first ones */
	uint64_t give_back_count, given_bytes, again_bytes; /* of all */
	struct gmt_give_back last; /* the newest */
	bool gives, refused;
	uint64_t outside_blocks;   /* ever: in no segment */
	uint64_t misfits;          /* what PyTorch's allocator, as it is known, never does */
};

struct gmt_allocator {
	struct gmt_replay_observer observer; /* for the replay */
	const struct gmt_timeline *timeline; /* or NULL */
	GMT_VEC(struct gmt_allocator_device) devices; /* those that had an event, in that order */
	struct gmt_map device_ids;   /* number to index in devices */
	struct gmt_allocator_memory memory;
	struct gmt_map block_ends; /* of layer torch, in segments but for pages */
	GMT_VEC(uint32_t) device_of_account; /* index + 1 */
};

/* `allocator` is zeroed; afterwards its observer may look on. `timeline` may be NULL: no steps. */
void gmt_allocator_init(struct gmt_allocator *allocator, const struct gmt_timeline *timeline);
void gmt_allocator_fini(struct gmt_allocator *allocator);

/* NULL when it had no event. */
const struct gmt_allocator_device *gmt_allocator_find(const struct gmt_allocator *allocator, int32_t device);

/* Whether all blocks lay in segments that were seen: else only the rows of blocks, over all pools, hold. */
bool gmt_allocator_knows_segments(const struct gmt_allocator_device *device);

/* "allocated_bytes", "Allocated memory". */
const char *gmt_allocator_key(enum gmt_allocator_row row);
const char *gmt_allocator_title(enum gmt_allocator_row row);
bool gmt_allocator_in_bytes(enum gmt_allocator_row row);
const char *gmt_allocator_pool_name(enum gmt_allocator_pool pool); /* "all", "large_pool", "small_pool" */

#endif
