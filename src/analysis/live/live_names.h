/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LIVE_LIVE_NAMES_H
#define GMT_ANALYSIS_LIVE_LIVE_NAMES_H

/*
 * The lines of code that hold memory in a recording that is followed. A trace is named when its
 * memory is first shown, some traces at a time, because the names of native frames are in large
 * files. In the flow: follow -> live_names -> live_view. For one thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/intern.h"
#include "containers/map.h"
#include "reader/follow/follow.h"
#include "reader/stacks/traces.h"

/* A line of code, or a function without a known line. Texts belong to the names. */
struct gmt_live_name {
	const char *function; /* "" if the stack is empty */
	const char *file;     /* "" if it is not known */
	uint32_t line;        /* 0: not known */
	bool is_python;
	bool is_pin_thread; /* gmt_traces_is_pin_thread */
	bool is_segment;    /* PyTorch's allocator asks here for what it hands out in blocks */
};

/* Initialize with zeros. */
struct gmt_live_names {
	struct gmt_map of_trace; /* from the index of a trace to the index in `names` */
	struct gmt_intern keys;  /* ids are indexes in `names` */
	struct gmt_intern texts;
	GMT_VEC(struct gmt_live_name) names;
};

/*
 * Names the traces of at most `max_traces` sites that have no name yet. Those that hold the most
 * memory come first, then those that ever got the most. Sets *ret_left to the number of sites that
 * remain without a name. Fails only when out of memory.
 */
enum gmt_status gmt_live_names_add(struct gmt_live_names *names, const struct gmt_follow *follow,
	const struct gmt_traces_options *options, size_t max_traces, size_t *ret_left,
	struct gmt_error *error);

/*
 * Returns the name of a trace, or NULL if it has none yet. Valid until the next gmt_live_names_add.
 */
const struct gmt_live_name *gmt_live_names_find(const struct gmt_live_names *names, uint32_t trace);

void gmt_live_names_fini(struct gmt_live_names *names);

#endif
