/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PAGE_PAGE_ACCOUNT_H
#define GMT_ANALYSIS_PAGE_PAGE_ACCOUNT_H

/*
 * The history of one account (a layer on a device), summed into buckets while the events are
 * replayed. A bucket has the account's maximum, and for each site its change from the previous
 * bucket's maximum to this one.
 *
 * A new maximum needs no work for each site. It only increments the account's `max_number`. At its
 * first change after a maximum, a site stores the bytes that it held until then. (The accounting
 * does the same for the peak.)
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/page/page_clock.h"
#include "containers/vec.h"

enum { GMT_PAGE_PHASES = 16 }; /* phase names; number 0 is "outside of phases" */

struct gmt_page_bucket {
	uint64_t begin_ns, begin_event;
	uint64_t max_bytes, max_ns; /* the total when it begins counts too */
	uint64_t min_bytes, end_bytes;
	uint64_t reserved_bytes; /* layer torch: the most that PyTorch had reserved */
	size_t entries; /* number of entries */
};

/* A site that changed in a bucket. */
struct gmt_page_entry {
	uint32_t site; /* of the accounting; after gmt_page_finish: of the page */
	int64_t at_max; /* change of its live bytes from the previous bucket's maximum to this one's */
	uint64_t allocated, freed; /* bytes of its blocks that began and ended in the bucket */
	uint64_t allocs, frees;
};

struct gmt_page_entries { /* layout of a GMT_VEC */
	struct gmt_page_entry *items;
	size_t count, capacity;
};

struct gmt_page_fine {
	uint64_t begin_stamp;
	uint64_t max_bytes;
};

/* Live bytes of the blocks that were allocated in a phase of one name. */
struct gmt_page_phase {
	uint64_t live_bytes;
	uint64_t saved_max_number, saved_bytes; /* at that maximum, if it changed since */
};

/* A site while its account is followed. */
struct gmt_page_site_state {
	uint64_t live_bytes;
	uint64_t saved_max_number, saved_bytes; /* at that maximum, if it changed since */
	uint64_t last_bytes; /* at the maximum of the bucket before */
	uint64_t allocated, freed, allocs, frees;
	uint64_t bucket; /* number of the bucket that the line above counts for */
};

struct gmt_page_site_states { /* layout of a GMT_VEC; by site of the accounting */
	struct gmt_page_site_state *items;
	size_t count, capacity;
};

struct gmt_page_account {
	bool is_used; /* it had a block */
	GMT_VEC(struct gmt_page_bucket) buckets;
	struct gmt_page_entries entries; /* of all buckets, in their order */
	GMT_VEC(struct gmt_page_fine) fine;
	uint64_t peak_bytes, peak_ns; /* the largest maximum; set at the end of the replay */
	/* GMT_PAGE_PHASES numbers for each bucket: live bytes at its maximum by phase; or none */
	GMT_VEC(uint64_t) phases_at_max;
	/* The fields below are used only while the replay runs. */
	bool has_phases;
	size_t interval; /* index of the interval in which the open bucket began */
	uint64_t number; /* of the open bucket; from 1 */
	uint64_t live_bytes, max_number;
	uint64_t max_stamp; /* UINT64_MAX: the maximum is at the beginning */
	uint64_t reserved_bytes; /* what PyTorch reported last */
	struct gmt_page_bucket open;
	GMT_VEC(uint32_t) touched; /* sites that may have an entry in the open bucket */
	struct gmt_page_phase phases[GMT_PAGE_PHASES];
	uint64_t fine_begin, fine_end, fine_max; /* the open part of the finer curve */
};

/* State that all accounts share. */
struct gmt_page_context {
	const struct gmt_recording *recording;
	const struct gmt_replay *replay; /* set when the replay has begun */
	struct gmt_page_clock clock;
	struct gmt_page_site_states sites;
	size_t entries; /* of all accounts */
};

/* A block that began, or ended. */
struct gmt_page_change {
	uint32_t site;
	unsigned phase;
	uint64_t stamp, size_bytes;
	uint64_t reserved_bytes;
	bool is_end;
};

/* Adds a change of the account's memory. The clock is in its interval. False when out of memory. */
bool gmt_page_account_change(struct gmt_page_account *account, struct gmt_page_context *context,
	const struct gmt_page_change *change);

/*
 * Opens the first bucket, if the account has none yet. False when out of memory.
 */
bool gmt_page_account_begin(struct gmt_page_account *account, struct gmt_page_context *context);

/* Closes all buckets at the end of the replay. False when out of memory. */
bool gmt_page_account_finish(struct gmt_page_account *account, struct gmt_page_context *context,
	uint64_t reserved_bytes);

/* Finds or makes the state of a site. Returns NULL when out of memory. */
struct gmt_page_site_state *gmt_page_site_state(struct gmt_page_context *context, uint32_t site);

/* Adds the site to those that may have an entry in the open bucket. False when out of memory. */
bool gmt_page_account_touch(struct gmt_page_account *account, struct gmt_page_site_state *site,
	uint32_t id);

void gmt_page_account_fini(struct gmt_page_account *account);

#endif
