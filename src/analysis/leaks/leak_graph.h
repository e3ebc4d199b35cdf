/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_LEAKS_LEAK_GRAPH_H
#define GMT_ANALYSIS_LEAKS_LEAK_GRAPH_H

/*
 * Decides whether the graph of a backward pass holds blocks of a finding. The graph of a result
 * holds the tensors that were computed on the way to that result. Most functions of torch.nn return
 * one tensor. The program gets their intermediate tensors only by a hook. So if several tensors
 * from one call of such a function stay alive, and the call had no hooks, a graph holds them. Part
 * of analysis/leaks.
 */

#include <stdbool.h>

#include "analysis/leaks/leak_groups.h"

/* What the stacks show that left the blocks of a finding. */
struct gmt_leak_stacks_summary {
	uint32_t frame_kinds; /* bits of all these stacks */
	/* The stacks prove that a graph holds blocks. False also if this is unknown. */
	bool has_graph;
};

/* Returns the summary of a finding. The finding must have a stack. */
struct gmt_leak_stacks_summary gmt_leak_allocating_stacks(const struct gmt_leak_builder *builder,
	const struct gmt_leak *leak);

#endif
