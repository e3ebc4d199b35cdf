/* SPDX-License-Identifier: MIT */
#include "analysis/page/page_merge_buckets.h"

#include <string.h>

/* A site while a pair of buckets is merged. */
struct merged_site {
	struct gmt_page_entry sum;
	/* part of the change after the pair's maximum: it belongs to the next pair */
	int64_t later;
	bool is_listed;
};

struct merger {
	GMT_VEC(struct merged_site) sites; /* by site */
	GMT_VEC(uint32_t) listed; /* sites with an entry in this pair, or a change from the last pair */
	struct gmt_page_entries entries;
};

static struct merged_site *get_site(struct merger *merger, uint32_t id)
{
	struct merged_site *site;
	uint32_t *slot;

	while (merger->sites.count <= id) {
		struct merged_site *more = gmt_vec_push(&merger->sites);

		if (!more)
			return NULL;
	}
	site = &merger->sites.items[id];
	if (site->is_listed)
		return site;
	slot = gmt_vec_push(&merger->listed);
	if (!slot)
		return NULL;
	*slot = id;
	*site = (struct merged_site){ .sum.site = id, .is_listed = true };
	return site;
}

/* Adds the entries of one bucket. `is_later`: the bucket follows the maximum of the pair. */
static bool add_entries(struct merger *merger, const struct gmt_page_entry *entries, size_t count,
	bool is_later)
{
	for (size_t i = 0; i < count; i++) {
		struct merged_site *site = get_site(merger, entries[i].site);

		if (!site)
			return false;
		if (is_later)
			site->later += entries[i].at_max;
		else
			site->sum.at_max += entries[i].at_max;
		site->sum.allocated += entries[i].allocated;
		site->sum.freed += entries[i].freed;
		site->sum.allocs += entries[i].allocs;
		site->sum.frees += entries[i].frees;
	}
	return true;
}

/* Writes the entries of a pair, and keeps what belongs to the next pair. */
static bool write_entries(struct merger *merger, size_t *ret_count)
{
	size_t kept = 0, before = merger->entries.count;

	for (size_t i = 0; i < merger->listed.count; i++) {
		struct merged_site *site = &merger->sites.items[merger->listed.items[i]];

		if (site->sum.at_max || site->sum.allocs || site->sum.frees || site->sum.allocated ||
			site->sum.freed) {
			struct gmt_page_entry *entry = gmt_vec_push(&merger->entries);

			if (!entry)
				return false;
			*entry = site->sum;
		}
		site->sum = (struct gmt_page_entry){ .site = site->sum.site, .at_max = site->later };
		site->later = 0;
		site->is_listed = site->sum.at_max;
		if (site->is_listed)
			merger->listed.items[kept++] = merger->listed.items[i];
	}
	merger->listed.count = kept;
	*ret_count = merger->entries.count - before;
	return true;
}

static struct gmt_page_bucket pair_of(const struct gmt_page_bucket *a,
	const struct gmt_page_bucket *b)
{
	struct gmt_page_bucket pair = *a;

	if (b->max_bytes > a->max_bytes) {
		pair.max_bytes = b->max_bytes;
		pair.max_ns = b->max_ns;
	}
	pair.min_bytes = a->min_bytes < b->min_bytes ? a->min_bytes : b->min_bytes;
	pair.end_bytes = b->end_bytes;
	if (b->reserved_bytes > a->reserved_bytes)
		pair.reserved_bytes = b->reserved_bytes;
	return pair;
}

static bool merge(struct merger *merger, struct gmt_page_account *account)
{
	const struct gmt_page_entry *entry = account->entries.items;
	size_t count = account->buckets.count, kept = 0;
	const size_t row_bytes = GMT_PAGE_PHASES * sizeof(*account->phases_at_max.items);

	for (size_t i = 0; i < count;) {
		struct gmt_page_bucket bucket = account->buckets.items[i];
		/* The last bucket stays: the open one continues from its maximum. */
		bool is_pair = i + 2 < count, is_second = false;
		size_t from = i;

		if (is_pair) {
			is_second = account->buckets.items[i + 1].max_bytes > bucket.max_bytes;
			from += is_second;
			bucket = pair_of(&bucket, &account->buckets.items[i + 1]);
		}
		for (size_t k = 0; k < 1u + is_pair; k++) {
			size_t entries = account->buckets.items[i + k].entries;

			if (!add_entries(merger, entry, entries, k == 1 && !is_second))
				return false;
			entry += entries;
		}
		if (!write_entries(merger, &bucket.entries))
			return false;
		if (account->has_phases)
			memmove(&account->phases_at_max.items[kept * GMT_PAGE_PHASES],
				&account->phases_at_max.items[from * GMT_PAGE_PHASES], row_bytes);
		account->buckets.items[kept++] = bucket;
		i += 1u + is_pair;
	}
	account->buckets.count = kept;
	if (account->has_phases)
		account->phases_at_max.count = kept * GMT_PAGE_PHASES;
	return true;
}

bool gmt_page_account_merge_buckets(struct gmt_page_account *account,
	struct gmt_page_context *context)
{
	struct merger merger = { 0 };
	bool done = merge(&merger, account);

	if (done) {
		struct gmt_page_entries old = account->entries;

		context->entries -= old.count - merger.entries.count;
		account->entries = merger.entries;
		merger.entries = old;
	}
	gmt_vec_fini(&merger.sites);
	gmt_vec_fini(&merger.listed);
	gmt_vec_fini(&merger.entries);
	return done;
}
