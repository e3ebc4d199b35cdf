/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_ALLOCATOR_H
#define GMT_ANALYSIS_ALLOCATOR_ALLOCATOR_H

/*
 * State of PyTorch's caching allocator: its segments, its own statistics, and the memory that it
 * gave back to the driver. The reader derives it from PyTorch's blocks and from the driver memory
 * that they lie in. In the flow: replay -> allocator -> segments, renderers.
 *
 * A segment is a block of layer cuda in which a block of layer torch lies or lay. PyTorch puts a
 * block into each new segment at once, so the reader needs no stack to recognize a segment.
 * Reserved addresses that hold a PyTorch block are an expandable segment, and all its pages are
 * PyTorch's. PyTorch counts no segments and no splits in expandable segments, because it can give
 * back their free memory page by page.
 *
 * Small pool and large pool: PyTorch serves requests up to 1 MiB from segments of 2 MiB, and all
 * other requests from larger segments (c10/cuda/CUDACachingAllocator.cpp, from PyTorch 1.0 to
 * 2.15). Pages are also 2 MiB or larger.
 *
 * Limit: a freed block that waits for another stream (Tensor.record_stream) counts as free here.
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

/* Empty segments that PyTorch gave back to the driver, with no allocation in between. */
struct gmt_cache_release {
	uint64_t stamp; /* when PyTorch gave back the first segment */
	uint64_t bytes, segments; /* segments or pages */
	/* part of `bytes` that PyTorch got again before the next release, within GMT_REACQUIRE_STEPS */
	uint64_t reacquired_bytes;
	bool after_refusal; /* the driver had just refused a request */
};

enum { GMT_REACQUIRE_STEPS = 3, GMT_CACHE_RELEASES_KEPT = 1000 };

struct gmt_allocator_device {
	int16_t device;
	struct gmt_allocator_stat stats[GMT_ALLOCATOR_ROWS][GMT_ALLOCATOR_POOLS];
	GMT_VEC(struct gmt_cache_release) cache_releases; /* only the first GMT_CACHE_RELEASES_KEPT */
	uint64_t cache_release_count, released_bytes,
		reacquired_bytes; /* sums over all cache releases */
	struct gmt_cache_release last; /* the newest cache release */
	bool is_releasing; /* PyTorch allocated no block since the newest cache release */
	bool refused; /* the driver refused a request; since then, no release and no new block */
	uint64_t outside_blocks; /* blocks, over the whole run, that lay in no known segment */
	uint64_t mismatches; /* events that contradict the known behaviour of PyTorch's allocator */
};

struct gmt_allocator {
	struct gmt_replay_observer observer; /* for the replay */
	const struct gmt_timeline *timeline; /* may be NULL */
	/* devices that had an event, in the order of their first event */
	GMT_VEC(struct gmt_allocator_device) devices;
	struct gmt_map device_ids; /* device number to index in devices */
	struct gmt_allocator_memory memory;
	/* end addresses of blocks of layer torch in segments; blocks in pages are not included */
	struct gmt_map block_ends;
	GMT_VEC(uint32_t) device_of_account; /* index in devices + 1; 0: not yet known */
};

/*
 * Prepares `allocator`, which is zeroed. Its observer may then observe a replay. `timeline` may be
 * NULL: then there are no steps.
 */
void gmt_allocator_init(struct gmt_allocator *allocator, const struct gmt_timeline *timeline);
void gmt_allocator_fini(struct gmt_allocator *allocator);

/* Returns NULL if the device had no event. */
const struct gmt_allocator_device *gmt_allocator_find(const struct gmt_allocator *allocator,
	int32_t device);

/*
 * Returns whether all blocks lay in known segments. If not, only the rows ALLOCATED and BLOCKS of
 * GMT_POOL_ALL are correct.
 */
bool gmt_allocator_knows_segments(const struct gmt_allocator_device *device);

/* Return the JSON key and the title of a row, such as "allocated_bytes" and "Allocated memory". */
const char *gmt_allocator_key(enum gmt_allocator_row row);
const char *gmt_allocator_title(enum gmt_allocator_row row);
bool gmt_allocator_in_bytes(enum gmt_allocator_row row);
/* "all", "large_pool", "small_pool" */
const char *gmt_allocator_pool_name(enum gmt_allocator_pool pool);

#endif
