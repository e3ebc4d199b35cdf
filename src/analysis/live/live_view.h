/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LIVE_LIVE_VIEW_H
#define GMT_ANALYSIS_LIVE_LIVE_VIEW_H

/*
 * What `gpumemtrace top` shows of a recording that is followed, at one moment: its devices, and the
 * lines of code that hold memory. In the flow: follow + live_names -> live_view -> render. For one
 * thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/live/live_names.h"
#include "reader/follow/follow.h"

enum { GMT_LIVE_EVERY_DEVICE = INT16_MAX };

enum gmt_live_order { GMT_LIVE_BY_LIVE, GMT_LIVE_BY_GROWTH, GMT_LIVE_BY_ALLOCS, GMT_LIVE_BY_TOTAL };

/* Which lines the view has, and in which order. */
struct gmt_live_choice {
	/* 0: PyTorch's blocks, and the memory of layer cuda that is not PyTorch's segments */
	uint8_t layer;
	int16_t device; /* ordinal, GMT_DEVICE_HOST or GMT_LIVE_EVERY_DEVICE */
	enum gmt_live_order order;
};

struct gmt_live_device {
	int16_t device;      /* ordinal, or GMT_DEVICE_HOST */
	const char *name;    /* of the GPU's model; "" if it is not known */
	bool has_sample;     /* else the next three numbers are 0 */
	uint64_t total_bytes, free_bytes;
	uint64_t other_bytes; /* in use, and neither in cuda_bytes nor in driver_bytes */
	uint64_t cuda_bytes;  /* live in layer cuda */
	uint64_t cuda_peak_bytes;
	uint64_t driver_bytes; /* contexts, code and limits, as measured */
	bool has_torch;        /* else the next four numbers are 0 */
	uint64_t allocated_bytes, reserved_bytes; /* by PyTorch, as it reports them */
	uint64_t allocated_peak_bytes, reserved_peak_bytes;
	const struct gmt_follow_curve *torch_curve, *cuda_curve; /* NULL: there is none */
};

struct gmt_live_line {
	const struct gmt_live_name *name; /* NULL: not named yet */
	uint8_t layer;
	int16_t device;
	uint64_t live_bytes, live_blocks;
	int64_t growth_bytes; /* of the last GMT_FOLLOW_SECONDS seconds */
	uint64_t alloc_count, total_bytes;
};

/* Initialize with zeros. A view may be made again and again. */
struct gmt_live_view {
	uint64_t time_ns; /* since the recording began */
	uint32_t second;
	uint64_t events, dropped_events, refusals;
	double events_per_second;
	const struct gmt_follow_counter *steps; /* NULL: no step was marked */
	double seconds_per_step;                /* between the last two marks; 0: not known */
	const char *phase;                      /* NULL: none */
	GMT_VEC(struct gmt_live_device) devices; /* by ordinal; the host comes last */
	/*
	 * In the chosen order. Ordered by live memory or growth, only lines that hold memory, or did in
	 * the last seconds; else all lines that ever got some.
	 */
	GMT_VEC(struct gmt_live_line) lines;
	struct gmt_map line_ids;   /* from account and name to the index in `lines` */
	struct gmt_map device_ids; /* to the index in `devices`, before these are sorted */
};

/*
 * Makes the view of the present moment. It borrows from `follow` and `names` until they change.
 * Returns false when out of memory.
 */
bool gmt_live_view_make(struct gmt_live_view *view, const struct gmt_follow *follow,
	const struct gmt_live_names *names, const struct gmt_live_choice *choice);

void gmt_live_view_fini(struct gmt_live_view *view);

#endif
