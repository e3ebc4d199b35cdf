/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_SEGMENTS_H
#define GMT_ANALYSIS_ALLOCATOR_SEGMENTS_H

/*
 * PyTorch's segments on one device at one moment: how full they are, what holes they have, what keeps
 * nearly empty ones from being given back, and what the process has from the driver besides. A pure
 * function of what there was at that moment.
 *
 * What is mapped side by side in an expandable segment is one segment here, as in PyTorch's own
 * memory_snapshot(). But what is empty, or held by little, is counted by page there: pages are what goes back
 * to the driver.
 *
 * Rounding inside of blocks is not in it: the recording has the size that PyTorch rounded to, not the
 * one that was asked for.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/allocator/allocator.h"
#include "analysis/history/peaks.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/load/spans.h"
#include "reader/stacks/traces.h"

enum gmt_segments_moment { GMT_SEGMENTS_AT_PEAK, GMT_SEGMENTS_AT_END };

/* A segment is pinned when its blocks fill less than a tenth of it. The lines are named that fill less than half of one. */
enum { GMT_PINNED_TENTHS = 1, GMT_PIN_NAMED_TENTHS = 5 };

/* More than this many reserved hundredths for each allocated one is called fragmentation. */
enum { GMT_FRAGMENTED_PERCENT = 150 };

enum { GMT_HOLE_CLASSES = 6 };

struct gmt_segments_holes {
	uint64_t below_bytes; /* its holes are smaller; UINT64_MAX: no bound */
	uint64_t bytes, holes;
};

/* A line that keeps segments, or pages, that are less than half full from being given back. */
struct gmt_segments_pin {
	uint32_t stack;    /* id in traces->stacks: of the largest block that does */
	uint32_t own_line; /* index of a frame in it */
	uint64_t segments;
	uint64_t free_bytes;  /* in these segments */
	uint64_t block_bytes; /* that its blocks fill in them, with those of others */
};

/* Memory from the driver that is no segment of PyTorch's, by own line and owner. */
struct gmt_segments_other {
	uint32_t stack, own_line, space;
	uint64_t bytes, blocks;
};

struct gmt_segments {
	enum gmt_segments_moment moment;
	int16_t device;
	uint64_t stamp;
	uint64_t segments, reserved_bytes;
	uint64_t allocated_bytes, blocks; /* in them */
	uint64_t empty_segments, empty_bytes; /* those, and pages, without a block: empty_cache() gives them back */
	uint64_t largest_hole_bytes;      /* of any segment, also of empty ones, and over empty pages */
	struct gmt_segments_holes holes[GMT_HOLE_CLASSES]; /* of segments, or pages, with blocks */
	uint64_t hole_bytes;              /* sum of them */
	uint64_t pinned_segments, pinned_bytes; /* whole segments, or pages, that little holds */
	GMT_VEC(struct gmt_segments_pin) pins;  /* most free bytes first */
	uint64_t graph_segments, graph_bytes, graph_free_bytes; /* segments, or pages, in private pools of CUDA graphs */
	uint64_t outside_blocks, outside_bytes; /* of layer torch in no segment that was seen */
	uint64_t driver_bytes, driver_blocks;   /* layer cuda */
	GMT_VEC(struct gmt_segments_other) others; /* largest first; with the segments they sum to that */
	bool fragmented; /* GMT_FRAGMENTED_PERCENT */
};

/* What there was on a device at the moment. Zero-initialise to make one. */
struct gmt_segments_scene {
	struct gmt_peaks_blocks blocks; /* of layer torch, ... */
	struct gmt_peaks_blocks driver; /* ... and of layer cuda, each by address */
	struct gmt_allocator_segments segments; /* PyTorch's, as gmt_allocator_memory_list has them */
	const struct gmt_spans *captures; /* into CUDA graphs; NULL: none */
};

/*
 * `replay` knows the sites of the scene's blocks; `device` is one of PyTorch's. Fails only for lack of
 * memory. `ret_segments` (zeroed) is the caller's; end it with gmt_segments_fini.
 */
bool gmt_segments_init(struct gmt_segments *ret_segments, const struct gmt_segments_scene *scene,
	const struct gmt_replay *replay, const struct gmt_traces *traces, int16_t device);

void gmt_segments_scene_fini(struct gmt_segments_scene *scene);

void gmt_segments_fini(struct gmt_segments *segments);

/* "peak", "end". */
const char *gmt_segments_moment_name(enum gmt_segments_moment moment);

#endif
