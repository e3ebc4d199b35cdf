/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_ALLOCATOR_SEGMENTS_H
#define GMT_ANALYSIS_ALLOCATOR_SEGMENTS_H

/*
 * PyTorch's segments on one device at one moment: how full they are, their holes, the blocks that
 * prevent nearly empty segments from being given back, and the other driver memory of the process.
 * A pure function of the state at that moment.
 *
 * Adjacent pages of an expandable segment are one segment here, as in PyTorch's own
 * memory_snapshot(). But empty and nearly empty memory of an expandable segment is counted by page,
 * because PyTorch gives back pages to the driver.
 *
 * Rounding inside blocks is not included: the recording holds the size that PyTorch rounded to, not
 * the requested size.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/allocator/allocator.h"
#include "analysis/history/peaks.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/load/mark_spans.h"
#include "reader/stacks/traces.h"

enum gmt_segments_moment { GMT_SEGMENTS_AT_PEAK, GMT_SEGMENTS_AT_END };

/*
 * A segment is pinned when its blocks fill less than GMT_PINNED_TENTHS tenths of it. The report
 * names the lines whose blocks keep a segment that is filled less than GMT_PIN_NAMED_TENTHS tenths.
 */
enum { GMT_PINNED_TENTHS = 1, GMT_PIN_NAMED_TENTHS = 5 };

/*
 * Memory is fragmented if the reserved bytes exceed this percentage of the allocated bytes, and the
 * difference is above GMT_FRAGMENTED_BYTES. A segment has up to 20 MiB for a small request, so a
 * small program always reserves much more than it allocates.
 */
enum { GMT_FRAGMENTED_PERCENT = 150, GMT_FRAGMENTED_BYTES = 64 << 20 };

enum { GMT_HOLE_CLASSES = 6 };

struct gmt_segments_holes {
	/* upper bound of the size of the holes in this class; UINT64_MAX: no bound */
	uint64_t below_bytes;
	uint64_t bytes, holes;
};

/*
 * A line whose blocks prevent segments or pages that are less than half full from being given back.
 */
struct gmt_segments_pin {
	uint32_t stack;    /* id in traces->stacks, of the largest such block */
	uint32_t own_line; /* index of a frame in the stack */
	uint64_t segments;
	uint64_t free_bytes;  /* in these segments */
	uint64_t block_bytes; /* all blocks in these segments, from this line and from other lines */
};

/* Driver memory that is not a segment of PyTorch, by own line and owner. */
struct gmt_segments_other {
	uint32_t stack, own_line, space;
	uint64_t bytes, blocks;
};

/* One segment. Adjacent pages of an expandable segment are one. */
struct gmt_segments_row {
	uint64_t address, size_bytes;
	uint64_t stamp; /* when PyTorch got it from CUDA; for pages, the first page */
	uint64_t used_bytes, blocks; /* PyTorch's blocks in it */
	bool is_expandable;
};

struct gmt_segments {
	enum gmt_segments_moment moment;
	int16_t device;
	uint64_t stamp;
	uint64_t segments, reserved_bytes;
	GMT_VEC(struct gmt_segments_row) rows; /* each segment, by address */
	uint64_t allocated_bytes, blocks; /* in these segments */
	/* segments and pages without a block: empty_cache() gives them back */
	uint64_t empty_segments, empty_bytes;
	/* in any segment, also in empty segments, and across adjacent empty pages */
	uint64_t largest_hole_bytes;
	/* holes of segments or pages that have blocks */
	struct gmt_segments_holes holes[GMT_HOLE_CLASSES];
	uint64_t hole_bytes;              /* sum over holes */
	/* whole size of the segments or pages that are nearly empty but have blocks */
	uint64_t pinned_segments, pinned_bytes;
	GMT_VEC(struct gmt_segments_pin) pins;  /* most free bytes first */
	/* segments or pages in private pools of CUDA graphs */
	uint64_t graph_segments, graph_bytes, graph_free_bytes;
	uint64_t outside_blocks, outside_bytes; /* blocks of layer torch in no known segment */
	uint64_t driver_bytes, driver_blocks;   /* blocks of layer cuda */
	/* largest first; with the segments, they add up to driver_bytes */
	GMT_VEC(struct gmt_segments_other) others;
	bool fragmented; /* see GMT_FRAGMENTED_PERCENT */
};

/* The memory of a device at the moment. Zero-initialise to make one. */
struct gmt_segments_input {
	struct gmt_peaks_blocks blocks; /* blocks of layer torch, by address */
	struct gmt_peaks_blocks driver; /* blocks of layer cuda, by address */
	struct gmt_allocator_segments segments; /* PyTorch's segments, from gmt_allocator_memory_list */
	const struct gmt_mark_spans *captures; /* captures of CUDA graphs; NULL: none */
};

/*
 * Computes the segments. `replay` knows the sites of the blocks in `input`. `device` is a device
 * that PyTorch uses. Fails only if memory is exhausted. `ret_segments` (zeroed) belongs to the
 * caller; end it with gmt_segments_fini.
 */
bool gmt_segments_compute(struct gmt_segments *ret_segments, const struct gmt_segments_input *input,
	const struct gmt_replay *replay, const struct gmt_traces *traces, int16_t device);

void gmt_segments_input_fini(struct gmt_segments_input *input);

void gmt_segments_fini(struct gmt_segments *segments);

/* "peak", "end". */
const char *gmt_segments_moment_name(enum gmt_segments_moment moment);

#endif
