/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PAGE_PAGE_H
#define GMT_ANALYSIS_PAGE_PAGE_H

/*
 * The data of the HTML report (docs/internals/page-data.md), collected in one replay. The memory in
 * use has a bound that does not depend on the number of events. In the flow: replay -> page ->
 * render/page.
 *
 *   gmt_page_init(&page, &input, error)        before the replay; `page` must not move afterwards
 *   observers[...] = page.observer             after the observers of the allocator state
 *   gmt_replay_run(&replay, ...)
 *   gmt_page_finish(&page, &results, error)
 */

#include "analysis/history/attribution.h"
#include "analysis/ledger/ledger.h"
#include "analysis/page/page_account.h"
#include "analysis/page/page_blocks.h"
#include "analysis/page/page_worker.h"
#include "analysis/page/page_sites.h"

enum {
	GMT_PAGE_ACCOUNTS = 128, /* most accounts that are followed */
	GMT_PAGE_ENTRIES = 500000, /* number of entries from which buckets are merged */
	GMT_PAGE_FEW_BUCKETS = 256, /* number of buckets that are not merged further, ... */
	GMT_PAGE_MAX_ENTRIES = 2 * GMT_PAGE_ENTRIES, /* ... except from this number of entries on */
	GMT_PAGE_REFUSALS = 1000, /* most refusals of a device */
	GMT_PAGE_SAMPLES = 4096, /* most samples of a device */
};

struct gmt_page_refusal {
	uint64_t time_ns, size_bytes;
	uint32_t site; /* the page's number */
	uint8_t layer;
};

/* The device's answer with the most memory in use in an interval. */
struct gmt_page_sample {
	uint64_t time_ns, used_bytes, total_bytes;
};

struct gmt_page_device {
	int16_t device; /* GMT_DEVICE_HOST: host memory */
	struct gmt_page_blocks blocks; /* of all layers */
	GMT_VEC(uint32_t) accounts; /* its layers: indexes in the accounting, which had blocks */
	GMT_VEC(struct gmt_page_refusal) refusals; /* in order of time */
	GMT_VEC(struct gmt_page_sample) samples; /* in order of time */
};

struct gmt_page {
	struct gmt_replay_observer observer;
	GMT_VEC(struct gmt_page_account) accounts; /* by index in the accounting */
	GMT_VEC(struct gmt_page_device) devices; /* by ordinal */
	struct gmt_page_sites sites;
	/* of phases 1, 2, ...: id in the attribution's phase_names; see has_other_phases */
	GMT_VEC(uint32_t) phase_names;
	bool has_other_phases; /* one more phase stands for all phases that have no number */
	double ns_per_tick; /* average length of a tick, for sums of lifetimes */

	/* The fields below are used only while the replay runs. */
	const struct gmt_attribution *attribution;
	struct gmt_page_bounds bounds; /* used by the thread of the replay */
	/* The worker thread uses the fields below, and `accounts` and `devices`. */
	struct gmt_page_worker worker;
	struct gmt_page_context context;
	GMT_VEC(uint8_t)
	phase_of_name; /* by id in the attribution's phase_names: number of the phase */
	bool is_in_prefix;
};

struct gmt_page_input {
	const struct gmt_recording *recording;
	const struct gmt_timeline *timeline;
	const struct gmt_attribution *attribution; /* initialised; observes the same replay */
	uint64_t until_ns; /* end of the replay */
};

/* Prepares `ret_page` (zeroed). Fails only when out of memory. End it with gmt_page_fini. */
enum gmt_status gmt_page_init(struct gmt_page *ret_page, const struct gmt_page_input *input,
	struct gmt_error *error);

struct gmt_page_results {
	struct gmt_page_sites_input sites;
	const struct gmt_ledger_watch *ledger_watch;
};

/* Completes the page after the replay. Fails only when out of memory. */
enum gmt_status gmt_page_finish(struct gmt_page *page, const struct gmt_page_results *results,
	struct gmt_error *error);

/* Returns the history of an account; NULL if it had no block or is not followed. */
const struct gmt_page_account *gmt_page_account_of(const struct gmt_page *page, uint32_t account);

void gmt_page_fini(struct gmt_page *page);

#endif
