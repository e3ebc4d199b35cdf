/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PAGE_PAGE_SITES_H
#define GMT_ANALYSIS_PAGE_PAGE_SITES_H

/*
 * The sites of the page: those with the most bytes, and their stacks as one tree. Site 0 stands for
 * all other sites. A pure function of a replay.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/history/history.h"
#include "analysis/history/site_table.h"
#include "containers/intern.h"
#include "containers/map.h"
#include "containers/vec.h"
#include "reader/replay/replay.h"
#include "reader/stacks/traces.h"

enum { GMT_PAGE_SITES = 4096 }; /* most sites, with site 0 */

/* A site with the properties by which views group it. */
struct gmt_page_site {
	struct gmt_site site; /* site 0: sums of the sites that were left out */
	uint32_t node, own_node;
	uint32_t category, part; /* enum gmt_category, enum gmt_part */
	uint32_t owner, module, operator; /* ids in `owners`, `modules`, `operators` */
};

/* A node of the tree of stacks. Node 0 is the root. */
struct gmt_page_node {
	uint32_t parent;
	uint32_t place_plus_1; /* index in `places`, plus 1; 0: the root */
};

struct gmt_page_sites {
	GMT_VEC(struct gmt_page_site) rows; /* by the page's number, in the order of the accounting */
	GMT_VEC(uint32_t) numbers; /* by site of the accounting: the page's number */
	GMT_VEC(struct gmt_page_node) nodes;
	GMT_VEC(uint32_t) places; /* the places of the nodes: ids in traces->places */
	struct gmt_intern owners, modules, operators; /* name 0 is "" */
	struct gmt_map node_ids, place_ids; /* used only while the table is made */
};

struct gmt_page_sites_input {
	const struct gmt_replay *replay;
	const struct gmt_traces *traces;
	const struct gmt_history *history;
	const struct gmt_sites *sites; /* of `replay` */
};

/* Makes the table; `ret_sites` is zeroed. False when out of memory. */
bool gmt_page_sites_compute(struct gmt_page_sites *ret_sites,
	const struct gmt_page_sites_input *input);

void gmt_page_sites_fini(struct gmt_page_sites *sites);

#endif
