/* SPDX-License-Identifier: MIT */
/* What became of refused requests that are folded: counted by site, so that nobody takes a refusal for a retry. */
#include <stddef.h>

#include "compaction/compact_parts.h"

/* Chains name refusals by their place in open_refusals. */
static void became(void *user, uint64_t refusal, enum gmt_fate fate, unsigned parts)
{
	struct gmt_folder *folder = user;
	struct gmt_fold_maker *maker = &folder->makers.items[folder->open_refusals.items[refusal].site];

	(void)parts;
	maker->ooms -= fate != GMT_FATE_FAILED && maker->ooms;
	folder->oom_retries += fate == GMT_FATE_RETRY;
}

void gmt_fold_fates_init(struct gmt_folder *folder)
{
	folder->fates.became = became;
	folder->fates.user = folder;
}

static struct gmt_fates_event of(const struct gmt_event *event)
{
	return (struct gmt_fates_event){
		.address = event->address, .size_bytes = event->size_bytes, .thread = event->thread,
		.device = event->device, .layer = event->layer, .space = event->space,
	};
}

/* No chain means any of them any more once none is open. */
static void forget_closed(struct gmt_folder *folder)
{
	if (!folder->fates.open)
		folder->open_refusals.count = 0;
}

bool gmt_fold_see_refused(struct gmt_folder *folder, uint32_t site)
{
	const struct gmt_event *event = folder->current;
	struct gmt_fates_event refused = of(event);
	struct gmt_fold_open *open;

	if (!gmt_fates_is_one(event->layer, event->result))
		return true;
	/* Of what was folded before, the counts come with the past, and the open ones begin anew. */
	if (folder->restores && !gmt_past_is_open(&folder->past, event->thread, event->stamp))
		return true;
	forget_closed(folder);
	open = gmt_vec_push(&folder->open_refusals);
	if (!open)
		return false;
	*open = (struct gmt_fold_open){ .stamp = event->stamp, .thread = event->thread, .site = site };
	folder->makers.items[site].ooms++;
	return gmt_fates_refused(&folder->fates, &refused, folder->open_refusals.count - 1);
}

void gmt_fold_see_given(struct gmt_folder *folder, const struct gmt_event *event)
{
	struct gmt_fates_event given = of(event);

	if (folder->fates.open && event->kind == GMT_KIND_ALLOC && !folder->restores)
		gmt_fates_given(&folder->fates, &given);
}

static bool is_kept(const struct gmt_folder *folder, const struct gmt_fold_open *open)
{
	for (size_t i = 0; i < folder->refusals.count; i++)
		if (folder->refusals.items[i].stamp == open->stamp && folder->refusals.items[i].thread == open->thread)
			return true;
	return false;
}

/* What comes behind the cut says what became of these; they are in the file as events. */
static bool leave_open(struct gmt_folder *folder, const struct gmt_fates_chain *chain)
{
	for (unsigned i = 0; i < chain->count; i++) {
		const struct gmt_fold_open *open = &folder->open_refusals.items[chain->refusals[i]];

		if (!is_kept(folder, open))
			continue;
		if (!gmt_vec_reserve(&folder->open_list, 2))
			return false;
		folder->open_list.items[folder->open_list.count++] = open->thread;
		folder->open_list.items[folder->open_list.count++] = open->stamp;
		folder->makers.items[open->site].ooms--;
	}
	return true;
}

bool gmt_fold_close_fates(struct gmt_folder *folder)
{
	for (size_t i = 0; i < folder->fates.chains.count; i++) {
		const struct gmt_fates_chain *chain = &folder->fates.chains.items[i];

		/* It has got what it asked for, and only the block in it is behind the cut. */
		if (chain->count && chain->retried) {
			for (unsigned j = 0; j < chain->count; j++)
				became(folder, chain->refusals[j], j ? GMT_FATE_PART : GMT_FATE_RETRY, 0);
		} else if (!leave_open(folder, chain)) {
			return false;
		}
	}
	return true;
}

void gmt_fold_fates_fini(struct gmt_folder *folder)
{
	gmt_fates_fini(&folder->fates);
	gmt_vec_fini(&folder->open_refusals);
	gmt_vec_fini(&folder->open_list);
}
