/* SPDX-License-Identifier: MIT */
#ifndef GMT_PRODUCER_LOSSES_H
#define GMT_PRODUCER_LOSSES_H

/*
 * Counts the events that were lost before they reached a ring, and the stacks that did not fit into
 * the depot (format/losses.def). The writer puts the counts into the file. The shared memory has
 * them too, so a killed process does not lose them.
 */

#include <stdatomic.h>
#include <stdint.h>

enum gmt_loss {
#define GMT_LOSS(name, reason) GMT_LOSS_##name,
#include "format/losses.def"
#undef GMT_LOSS
	GMT_LOSS_COUNT
};

/* Counts one loss, or `count` losses. Any thread. */
void gmt_count_loss(enum gmt_loss loss);
void gmt_count_losses(enum gmt_loss loss, uint64_t count);

/* Returns the losses of this recording so far. Any thread. */
uint64_t gmt_losses_of(enum gmt_loss loss);

/*
 * Adds the losses so far to `shared`. From now on counts there too. Called by the writer when the
 * recording has its shared memory.
 */
void gmt_losses_share(_Atomic uint64_t shared[GMT_LOSS_COUNT]);

#endif
