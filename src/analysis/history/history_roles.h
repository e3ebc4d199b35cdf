/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_HISTORY_ROLES_H
#define GMT_ANALYSIS_HISTORY_HISTORY_ROLES_H

/*
 * What PyTorch's modules and optimizers said of their tensors while the program ran: marks that name the memory of parameters,
 * gradients, buffers and of an optimizer's state. Part of analysis/history.
 */

#include "analysis/history/history.h"

/* The marks while a replay goes along them. Zeroed at first; end it with gmt_history_roles_fini. */
struct gmt_history_roles {
	const struct gmt_snapshot *snapshot;
	size_t next;        /* the next mark of all */
	struct gmt_map counted; /* addresses that were named since the last ROLES */
	struct gmt_map named; /* by site and role: bytes of its blocks that were named since the last ROLES */
};

/* What a mark of this kind names a tensor as; GMT_ROLE_NONE: it names none. */
enum gmt_history_role gmt_history_role_of_mark(uint8_t mark_kind);

/* The block that a mark names. With PyTorch's backend cudaMallocAsync its blocks are CUDA's. NULL: none lives there. */
const struct gmt_account_block *gmt_history_roles_block(const struct gmt_accounting *accounting, uint64_t address);

/* The stamp of the next such mark; UINT64_MAX: there is none. */
uint64_t gmt_history_roles_next(struct gmt_history_roles *roles);

/*
 * Takes the marks before `stamp`. A site gets a role where at least half of what it holds at a mark ROLES was named with it.
 * The history has rows for all sites of the books. False when out of memory.
 */
bool gmt_history_roles_follow(struct gmt_history_roles *roles, struct gmt_history *history, const struct gmt_accounting *accounting,
	uint64_t stamp);

void gmt_history_roles_fini(struct gmt_history_roles *roles);

#endif
