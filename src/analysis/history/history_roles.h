/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_HISTORY_ROLES_H
#define GMT_ANALYSIS_HISTORY_HISTORY_ROLES_H

/*
 * Follows the marks in which PyTorch's modules and optimizers named their tensors while the program
 * ran. They name the memory of parameters, gradients, buffers and optimizer state. Part of
 * analysis/history.
 */

#include "analysis/history/history.h"

/*
 * The state of following the marks. Initialize it with zeros and end it with
 * gmt_history_roles_fini.
 */
struct gmt_history_roles {
	const struct gmt_recording *recording;
	size_t next;        /* index of the next mark */
	struct gmt_map counted; /* addresses named since the last mark ROLES */
	struct gmt_map named; /* site and role to bytes of blocks named since the last mark ROLES */
};

/*
 * Returns the role in which a mark of this kind names a tensor. GMT_ROLE_NONE: it names no tensor.
 */
enum gmt_history_role gmt_history_role_of_mark(uint8_t mark_kind);

/*
 * Returns the block that a mark names, or NULL if no block lives at that address. With PyTorch's
 * backend cudaMallocAsync, PyTorch's blocks are in layer cuda.
 */
const struct gmt_account_block *gmt_history_roles_block(const struct gmt_accounting *accounting,
	uint64_t address);

/* Returns the stamp of the next mark about roles. UINT64_MAX: there are no more marks. */
uint64_t gmt_history_roles_next_stamp(struct gmt_history_roles *roles);

/*
 * Processes the marks before `stamp`. At a mark ROLES, a site gets a role if at least half of its
 * live bytes were named in that role. The history must have rows for all sites of the accounting.
 * False when out of memory.
 */
bool gmt_history_roles_follow(struct gmt_history_roles *roles, struct gmt_history *history,
	const struct gmt_accounting *accounting, uint64_t stamp);

void gmt_history_roles_fini(struct gmt_history_roles *roles);

#endif
