/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAKS_LEAK_GRAPH_H
#define GMT_ANALYSIS_LEAKS_LEAK_GRAPH_H

/*
 * Whether the graph of a backward pass holds blocks of a finding. The graph of a result holds what was computed on the way to
 * it. A program gets one tensor from most functions of torch.nn, and the intermediate ones only by a hook. So where several
 * tensors from one call of such a function live on, and it had no hooks, a graph holds them. Part of analysis/leaks.
 */

#include <stdbool.h>

#include "analysis/leaks/leak_groups.h"

/* What the stacks show that left the blocks of a finding. */
struct gmt_leak_makers {
	uint32_t frame_kinds; /* bits of all of them */
	bool has_graph;     /* a graph is shown to hold blocks; false when that is not known too */
};

/* Of a finding that has a stack. */
struct gmt_leak_makers gmt_leak_makers_of(const struct gmt_leak_maker *maker, const struct gmt_leak *leak);

#endif
