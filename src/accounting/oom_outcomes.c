/* SPDX-License-Identifier: MIT */
#include "accounting/oom_outcomes.h"

#include <string.h>

#include "format/format.h"

bool gmt_fates_is_one(uint8_t layer, uint32_t result)
{
	return layer == GMT_LAYER_TORCH || result == GMT_FATES_RESULT;
}

static void close_chain(struct gmt_fates *fates, struct gmt_fates_chain *chain)
{
	fates->open -= chain->count != 0;
	chain->count = 0;
	chain->retried = false;
}

static struct gmt_fates_chain *find_chain(struct gmt_fates *fates, uint32_t thread)
{
	uint64_t index;

	return gmt_map_find(&fates->threads, thread, &index) ? &fates->chains.items[index] : NULL;
}

static struct gmt_fates_chain *get_chain(struct gmt_fates *fates, uint32_t thread)
{
	struct gmt_fates_chain *chain = find_chain(fates, thread);

	if (chain)
		return chain;
	if (!gmt_map_put(&fates->threads, thread, fates->chains.count))
		return NULL;
	return gmt_vec_push(&fates->chains);
}

/* PyTorch asks, gives up the cached blocks that would do, asks, gives up all cached blocks, and asks. */
static bool refused_by_driver(struct gmt_fates *fates, const struct gmt_fates_event *event, uint64_t refusal)
{
	struct gmt_fates_chain *chain = get_chain(fates, event->thread);

	if (!chain)
		return false;
	if (chain->count && (chain->retried || chain->size_bytes != event->size_bytes ||
		chain->device != event->device || chain->space != event->space))
		close_chain(fates, chain);
	if (!chain->count) {
		chain->size_bytes = event->size_bytes;
		chain->device = event->device;
		chain->space = event->space;
		fates->open++;
	}
	if (chain->count == GMT_FATES_TRIES)
		memmove(chain->refusals, chain->refusals + 1, (size_t)--chain->count * sizeof(*chain->refusals));
	chain->refusals[chain->count++] = refusal;
	return true;
}

static void refused_by_torch(struct gmt_fates *fates, const struct gmt_fates_event *event, uint64_t refusal)
{
	struct gmt_fates_chain *chain = find_chain(fates, event->thread);

	if (!chain || !chain->count || chain->device != event->device)
		return;
	/* Of memory that is mapped bit by bit, a request is for one bit. */
	if (!chain->retried && (chain->space != GMT_SPACE_DEVICE || event->size_bytes <= chain->size_bytes)) {
		for (unsigned i = 0; i < chain->count; i++)
			fates->became(fates->user, chain->refusals[i], GMT_FATE_PART, 0);
		fates->became(fates->user, refusal, GMT_FATE_FAILED, chain->count);
	}
	close_chain(fates, chain);
}

bool gmt_fates_refused(struct gmt_fates *fates, const struct gmt_fates_event *event, uint64_t refusal)
{
	if (event->layer != GMT_LAYER_TORCH)
		return refused_by_driver(fates, event, refusal);
	refused_by_torch(fates, event, refusal);
	return true;
}

static void given_by_driver(struct gmt_fates *fates, struct gmt_fates_chain *chain, const struct gmt_fates_event *event)
{
	bool same = event->size_bytes == chain->size_bytes && event->space == chain->space;

	if (same && !chain->retried) {
		chain->retried = true;
		chain->address = event->address;
	} else if (!same || chain->space == GMT_SPACE_DEVICE) {
		close_chain(fates, chain);
	}
}

static void given_by_torch(struct gmt_fates *fates, struct gmt_fates_chain *chain, const struct gmt_fates_event *event)
{
	bool lies_in_it = event->address >= chain->address && event->address - chain->address < chain->size_bytes;

	if (chain->retried && (chain->space != GMT_SPACE_DEVICE || lies_in_it)) {
		fates->became(fates->user, chain->refusals[0], GMT_FATE_RETRY, chain->count);
		for (unsigned i = 1; i < chain->count; i++)
			fates->became(fates->user, chain->refusals[i], GMT_FATE_PART, 0);
	}
	close_chain(fates, chain);
}

void gmt_fates_given(struct gmt_fates *fates, const struct gmt_fates_event *event)
{
	struct gmt_fates_chain *chain = fates->open ? find_chain(fates, event->thread) : NULL;

	if (!chain || !chain->count || chain->device != event->device)
		return;
	if (event->layer == GMT_LAYER_TORCH)
		given_by_torch(fates, chain, event);
	else
		given_by_driver(fates, chain, event);
}

void gmt_fates_fini(struct gmt_fates *fates)
{
	gmt_map_fini(&fates->threads);
	gmt_vec_fini(&fates->chains);
}
