/* SPDX-License-Identifier: MIT */
#include "producer/losses.h"

#include <stddef.h>

#include "producer/session_state.h"
#include "runtime/stages.h"

static struct {
	_Atomic uint64_t counts[GMT_LOSS_COUNT];
	_Atomic uint64_t *shared; /* NULL: the recording has no shared memory yet */
} losses;

void gmt_count_losses(enum gmt_loss loss, uint64_t count)
{
	atomic_fetch_add_explicit(&losses.counts[loss], count, memory_order_relaxed);
	if (gmt_session_is_on())
		atomic_fetch_add_explicit(&losses.shared[loss], count, memory_order_relaxed);
}

void gmt_count_loss(enum gmt_loss loss)
{
	gmt_count_losses(loss, 1);
}

uint64_t gmt_losses_of(enum gmt_loss loss)
{
	return atomic_load_explicit(&losses.counts[loss], memory_order_relaxed);
}

void gmt_losses_share(_Atomic uint64_t shared[GMT_LOSS_COUNT])
{
	for (int loss = 0; loss < GMT_LOSS_COUNT; loss++)
		atomic_fetch_add(&shared[loss], atomic_load(&losses.counts[loss]));
	losses.shared = shared;
}

static void after_fork(void)
{
	for (int loss = 0; loss < GMT_LOSS_COUNT; loss++)
		atomic_store(&losses.counts[loss], 0);
}

GMT_AT_STAGE(after_fork, PRODUCER, after_fork);
