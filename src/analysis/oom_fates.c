/* SPDX-License-Identifier: MIT */
#include "analysis/oom_fates.h"

#include <string.h>

#include "analysis/ooms.h"
#include "base/map.h"

/* PyTorch asks, gives up the cached blocks that would do, asks, gives up all cached blocks, and asks. */
enum { TRIES = 3 };

/* Refusals of one thread, by the driver, for one size on one device, whose fate is open. */
struct chain {
	size_t refusals[TRIES]; /* the last of them, oldest first */
	unsigned count;         /* 0: none is open */
	uint64_t size_bytes;
	int16_t device;
	uint8_t space;
	bool retried;           /* then the driver gave that much: */
	uint64_t address;
};

struct finder {
	struct gmt_oom_fates *fates;
	struct gmt_map threads; /* id to index in chains */
	GMT_VEC(struct chain) chains;
	size_t open;
};

static void close_chain(struct finder *finder, struct chain *chain)
{
	finder->open -= chain->count != 0;
	chain->count = 0;
	chain->retried = false;
}

static struct chain *find_chain(struct finder *finder, uint32_t thread)
{
	uint64_t index;

	return gmt_map_find(&finder->threads, thread, &index) ? &finder->chains.items[index] : NULL;
}

static struct chain *get_chain(struct finder *finder, uint32_t thread)
{
	struct chain *chain = find_chain(finder, thread);

	if (chain)
		return chain;
	if (!gmt_map_put(&finder->threads, thread, finder->chains.count))
		return NULL;
	return gmt_vec_push(&finder->chains);
}

/* `refusal` is one more by the driver. */
static bool refused_by_driver(struct finder *finder, const struct gmt_snapshot_event *event, size_t refusal)
{
	struct chain *chain = get_chain(finder, event->thread);

	if (!chain)
		return false;
	if (chain->count && (chain->retried || chain->size_bytes != event->size_bytes ||
		chain->device != event->device || chain->space != event->space))
		close_chain(finder, chain);
	if (!chain->count) {
		chain->size_bytes = event->size_bytes;
		chain->device = event->device;
		chain->space = event->space;
		finder->open++;
	}
	if (chain->count == TRIES)
		memmove(chain->refusals, chain->refusals + 1, (size_t)--chain->count * sizeof(*chain->refusals));
	chain->refusals[chain->count++] = refusal;
	return true;
}

/* The chain's refusals become parts of `whole`, which is one of them or PyTorch's own. */
static void join(struct finder *finder, const struct chain *chain, size_t whole)
{
	struct gmt_oom_refusal *refusals = finder->fates->refusals.items;

	for (unsigned i = 0; i < chain->count; i++)
		refusals[chain->refusals[i]].fate = GMT_OOM_PART;
	refusals[whole].parts = chain->count;
}

static void refused_by_torch(struct finder *finder, const struct gmt_snapshot_event *event, size_t refusal)
{
	struct chain *chain = find_chain(finder, event->thread);

	if (!chain || !chain->count || chain->device != event->device)
		return;
	/* Of memory that is mapped bit by bit, a request is for one bit. */
	if (!chain->retried && (chain->space != GMT_SPACE_DEVICE || event->size_bytes <= chain->size_bytes))
		join(finder, chain, refusal);
	close_chain(finder, chain);
}

static bool refused(struct finder *finder, const struct gmt_snapshot_event *event, size_t index)
{
	bool is_torch = event->layer == GMT_LAYER_TORCH;
	size_t refusal = finder->fates->refusals.count;
	struct gmt_oom_refusal *row = gmt_vec_push(&finder->fates->refusals);

	if (!row)
		return false;
	*row = (struct gmt_oom_refusal){ .event = index, .fate = GMT_OOM_FAILED, .parts = !is_torch };
	if (!is_torch)
		return refused_by_driver(finder, event, refusal);
	refused_by_torch(finder, event, refusal);
	return true;
}

static void given_by_driver(struct finder *finder, struct chain *chain, const struct gmt_snapshot_event *event)
{
	bool same = event->size_bytes == chain->size_bytes && event->space == chain->space;

	if (same && !chain->retried) {
		chain->retried = true;
		chain->address = event->address;
	} else if (!same || chain->space == GMT_SPACE_DEVICE) {
		close_chain(finder, chain);
	}
}

static void given_by_torch(struct finder *finder, struct chain *chain, const struct gmt_snapshot_event *event)
{
	bool lies_in_it = event->address >= chain->address && event->address - chain->address < chain->size_bytes;

	if (chain->retried && (chain->space != GMT_SPACE_DEVICE || lies_in_it)) {
		join(finder, chain, chain->refusals[0]);
		finder->fates->refusals.items[chain->refusals[0]].fate = GMT_OOM_RETRY;
	}
	close_chain(finder, chain);
}

static void given(struct finder *finder, const struct gmt_snapshot_event *event)
{
	struct chain *chain = find_chain(finder, event->thread);

	if (!chain || !chain->count || chain->device != event->device)
		return;
	if (event->layer == GMT_LAYER_TORCH)
		given_by_torch(finder, chain, event);
	else
		given_by_driver(finder, chain, event);
}

bool gmt_oom_fates_find(struct gmt_oom_fates *ret_fates, const struct gmt_snapshot *snapshot, size_t count)
{
	struct finder finder = { .fates = ret_fates };
	struct gmt_events_reader reader;
	bool done = gmt_events_reader_init(&reader, &snapshot->events);

	/* What came of refusals that were folded, and who held what, nobody knows any more. */
	for (size_t i = snapshot->past_events; i < count && done; i++) {
		const struct gmt_snapshot_event *event = gmt_events_at(&reader, i);

		if (gmt_oom_is_one(event))
			done = refused(&finder, event, i);
		else if (finder.open && event->kind == GMT_KIND_ALLOC)
			given(&finder, event);
	}
	gmt_events_reader_fini(&reader);
	gmt_map_fini(&finder.threads);
	gmt_vec_fini(&finder.chains);
	return done;
}

void gmt_oom_fates_fini(struct gmt_oom_fates *fates)
{
	gmt_vec_fini(&fates->refusals);
}
