/* SPDX-License-Identifier: MIT */
/*
 * Outcomes of refused requests that are compacted. They are counted by site, so that the report can
 * distinguish failures from retries.
 */
#include <stddef.h>

#include "compaction/compact_internal.h"

/* Changes the outcome of a refusal. `refusal` is its index in open_refusals. */
static void on_outcome(void *user, uint64_t refusal, enum gmt_oom_outcome outcome, unsigned parts)
{
	struct gmt_compactor *compactor = user;
	struct gmt_compact_requester *requester =
		&compactor->requesters.items[compactor->open_refusals.items[refusal].site];

	(void)parts;
	requester->oom_count -= outcome != GMT_OOM_OUTCOME_FAILED && requester->oom_count;
	compactor->oom_retries += outcome == GMT_OOM_OUTCOME_RETRY;
}

void gmt_compact_oom_outcomes_init(struct gmt_compactor *compactor)
{
	compactor->oom_outcomes.on_outcome = on_outcome;
	compactor->oom_outcomes.user = compactor;
}

/* Returns the fields of an event that the outcomes depend on. */
static struct gmt_oom_outcomes_event outcome_event_of(const struct gmt_event *event)
{
	return (struct gmt_oom_outcomes_event){
		.address = event->address,
		.size_bytes = event->size_bytes,
		.thread = event->thread,
		.device = event->device,
		.layer = event->layer,
		.space = event->space,
	};
}

/* When no chain is open, no chain refers to open_refusals any more. */
static void forget_closed(struct gmt_compactor *compactor)
{
	if (!compactor->oom_outcomes.open)
		compactor->open_refusals.count = 0;
}

bool gmt_compact_note_refused(struct gmt_compactor *compactor, uint32_t site)
{
	const struct gmt_event *event = compactor->current;
	struct gmt_oom_outcomes_event refused = outcome_event_of(event);
	struct gmt_compact_open_refusal *open;

	if (!gmt_oom_outcomes_is_out_of_memory(event->layer, event->result))
		return true;
	/*
	 * In a compacted input, the prefix holds the counts of earlier refusals. Only the open refusals
	 * start again here.
	 */
	if (compactor->must_restore &&
		!gmt_compacted_prefix_is_open(&compactor->prefix, event->thread, event->stamp))
		return true;
	forget_closed(compactor);
	open = gmt_vec_push(&compactor->open_refusals);
	if (!open)
		return false;
	*open = (struct gmt_compact_open_refusal){
		.stamp = event->stamp, .thread = event->thread, .site = site
	};
	compactor->requesters.items[site].oom_count++;
	return gmt_oom_outcomes_refused(&compactor->oom_outcomes, &refused,
		compactor->open_refusals.count - 1);
}

void gmt_compact_note_granted(struct gmt_compactor *compactor, const struct gmt_event *event)
{
	struct gmt_oom_outcomes_event granted = outcome_event_of(event);

	if (compactor->oom_outcomes.open && event->kind == GMT_KIND_ALLOC && !compactor->must_restore)
		gmt_oom_outcomes_granted(&compactor->oom_outcomes, &granted);
}

static bool is_kept(const struct gmt_compactor *compactor,
	const struct gmt_compact_open_refusal *open)
{
	for (size_t i = 0; i < compactor->refusals.count; i++)
		if (compactor->refusals.items[i].stamp == open->stamp &&
			compactor->refusals.items[i].thread == open->thread)
			return true;
	return false;
}

/*
 * Leaves refusals open: events after the cut decide their outcome. The file contains these refusals
 * as events.
 */
static bool leave_open(struct gmt_compactor *compactor, const struct gmt_oom_outcomes_chain *chain)
{
	for (unsigned i = 0; i < chain->count; i++) {
		const struct gmt_compact_open_refusal *open =
			&compactor->open_refusals.items[chain->refusals[i]];

		if (!is_kept(compactor, open))
			continue;
		if (!gmt_vec_reserve(&compactor->open_ooms, 2))
			return false;
		compactor->open_ooms.items[compactor->open_ooms.count++] = open->thread;
		compactor->open_ooms.items[compactor->open_ooms.count++] = open->stamp;
		compactor->requesters.items[open->site].oom_count--;
	}
	return true;
}

bool gmt_compact_close_oom_outcomes(struct gmt_compactor *compactor)
{
	for (size_t i = 0; i < compactor->oom_outcomes.chains.count; i++) {
		const struct gmt_oom_outcomes_chain *chain = &compactor->oom_outcomes.chains.items[i];

		/* The driver has granted the memory. Only PyTorch's block inside it is after the cut. */
		if (chain->count && chain->retried) {
			for (unsigned j = 0; j < chain->count; j++)
				on_outcome(compactor, chain->refusals[j],
					j ? GMT_OOM_OUTCOME_PART : GMT_OOM_OUTCOME_RETRY, 0);
		} else if (!leave_open(compactor, chain)) {
			return false;
		}
	}
	return true;
}

void gmt_compact_oom_outcomes_fini(struct gmt_compactor *compactor)
{
	gmt_oom_outcomes_fini(&compactor->oom_outcomes);
	gmt_vec_fini(&compactor->open_refusals);
	gmt_vec_fini(&compactor->open_ooms);
}
