/* SPDX-License-Identifier: MIT */
#include "accounting/oom_outcomes.h"

#include <string.h>

#include "format/format.h"

bool gmt_oom_outcomes_is_out_of_memory(uint8_t layer, uint32_t result)
{
	return layer == GMT_LAYER_TORCH || result == GMT_OOM_RESULT;
}

static void close_chain(struct gmt_oom_outcomes *oom_outcomes, struct gmt_oom_outcomes_chain *chain)
{
	oom_outcomes->open -= chain->count != 0;
	chain->count = 0;
	chain->retried = false;
}

static struct gmt_oom_outcomes_chain *find_chain(struct gmt_oom_outcomes *oom_outcomes,
	uint32_t thread)
{
	uint64_t index;

	return gmt_map_find(&oom_outcomes->threads, thread, &index) ? &oom_outcomes->chains.items[index]
																: NULL;
}

static struct gmt_oom_outcomes_chain *get_chain(struct gmt_oom_outcomes *oom_outcomes,
	uint32_t thread)
{
	struct gmt_oom_outcomes_chain *chain = find_chain(oom_outcomes, thread);

	if (chain)
		return chain;
	if (!gmt_map_put(&oom_outcomes->threads, thread, oom_outcomes->chains.count))
		return NULL;
	return gmt_vec_push(&oom_outcomes->chains);
}

/*
 * Adds a refusal by the driver. PyTorch requests memory, frees suitable cached blocks, requests
 * again, frees all cached blocks, and requests a third time.
 */
static bool refused_by_driver(struct gmt_oom_outcomes *oom_outcomes,
	const struct gmt_oom_outcomes_event *event, uint64_t refusal)
{
	struct gmt_oom_outcomes_chain *chain = get_chain(oom_outcomes, event->thread);

	if (!chain)
		return false;
	if (chain->count &&
		(chain->retried || chain->size_bytes != event->size_bytes ||
			chain->device != event->device || chain->space != event->space))
		close_chain(oom_outcomes, chain);
	if (!chain->count) {
		chain->size_bytes = event->size_bytes;
		chain->device = event->device;
		chain->space = event->space;
		oom_outcomes->open++;
	}
	if (chain->count == GMT_OOM_MAX_TRIES)
		memmove(chain->refusals, chain->refusals + 1,
			(size_t)--chain->count * sizeof(*chain->refusals));
	chain->refusals[chain->count++] = refusal;
	return true;
}

static void refused_by_torch(struct gmt_oom_outcomes *oom_outcomes,
	const struct gmt_oom_outcomes_event *event, uint64_t refusal)
{
	struct gmt_oom_outcomes_chain *chain = find_chain(oom_outcomes, event->thread);

	if (!chain || !chain->count || chain->device != event->device)
		return;
	/* If memory is mapped in pieces (not space DEVICE), each driver request is for one piece. */
	if (!chain->retried &&
		(chain->space != GMT_SPACE_DEVICE || event->size_bytes <= chain->size_bytes)) {
		for (unsigned i = 0; i < chain->count; i++)
			oom_outcomes->on_outcome(oom_outcomes->user, chain->refusals[i], GMT_OOM_OUTCOME_PART,
				0);
		oom_outcomes->on_outcome(oom_outcomes->user, refusal, GMT_OOM_OUTCOME_FAILED, chain->count);
	}
	close_chain(oom_outcomes, chain);
}

bool gmt_oom_outcomes_refused(struct gmt_oom_outcomes *oom_outcomes,
	const struct gmt_oom_outcomes_event *event, uint64_t refusal)
{
	if (event->layer != GMT_LAYER_TORCH)
		return refused_by_driver(oom_outcomes, event, refusal);
	refused_by_torch(oom_outcomes, event, refusal);
	return true;
}

static void granted_by_driver(struct gmt_oom_outcomes *oom_outcomes,
	struct gmt_oom_outcomes_chain *chain, const struct gmt_oom_outcomes_event *event)
{
	bool same = event->size_bytes == chain->size_bytes && event->space == chain->space;

	if (same && !chain->retried) {
		chain->retried = true;
		chain->address = event->address;
	} else if (!same || chain->space == GMT_SPACE_DEVICE) {
		close_chain(oom_outcomes, chain);
	}
}

static void granted_by_torch(struct gmt_oom_outcomes *oom_outcomes,
	struct gmt_oom_outcomes_chain *chain, const struct gmt_oom_outcomes_event *event)
{
	bool lies_in_it =
		event->address >= chain->address && event->address - chain->address < chain->size_bytes;

	if (chain->retried && (chain->space != GMT_SPACE_DEVICE || lies_in_it)) {
		oom_outcomes->on_outcome(oom_outcomes->user, chain->refusals[0], GMT_OOM_OUTCOME_RETRY,
			chain->count);
		for (unsigned i = 1; i < chain->count; i++)
			oom_outcomes->on_outcome(oom_outcomes->user, chain->refusals[i], GMT_OOM_OUTCOME_PART,
				0);
	}
	close_chain(oom_outcomes, chain);
}

void gmt_oom_outcomes_granted(struct gmt_oom_outcomes *oom_outcomes,
	const struct gmt_oom_outcomes_event *event)
{
	struct gmt_oom_outcomes_chain *chain =
		oom_outcomes->open ? find_chain(oom_outcomes, event->thread) : NULL;

	if (!chain || !chain->count || chain->device != event->device)
		return;
	if (event->layer == GMT_LAYER_TORCH)
		granted_by_torch(oom_outcomes, chain, event);
	else
		granted_by_driver(oom_outcomes, chain, event);
}

void gmt_oom_outcomes_fini(struct gmt_oom_outcomes *oom_outcomes)
{
	gmt_map_fini(&oom_outcomes->threads);
	gmt_vec_fini(&oom_outcomes->chains);
}
