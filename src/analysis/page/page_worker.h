/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_PAGE_PAGE_WORKER_H
#define GMT_ANALYSIS_PAGE_PAGE_WORKER_H

/*
 * The worker thread of the page. The thread of the replay makes items, and the worker thread works
 * through them in order, so that the replay does not wait for the page. The worker thread starts
 * when the first batch is full. If it cannot start, the thread of the replay does the work.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gmt_page_item_kind {
	GMT_PAGE_ITEM_EVENT, /* an event after the beginning of an interval of the clock */
	GMT_PAGE_ITEM_BEGAN, /* a block began */
	GMT_PAGE_ITEM_ENDED, /* a block ended */
};

struct gmt_page_item {
	uint64_t stamp;
	uint64_t size_bytes, reserved_bytes;
	uint64_t address; /* of a block that ended */
	uint64_t begin_stamp; /* of a block that ended */
	uint64_t index; /* of an event */
	uint32_t site, account;
	int16_t device;
	uint8_t phase;
	uint8_t kind; /* enum gmt_page_item_kind */
};

enum { GMT_PAGE_BATCH = 4096 /* items */, GMT_PAGE_BATCHES = 4 };

struct gmt_page_worker {
	/* Works through items. Returns false when out of memory. */
	bool (*work)(void *user, const struct gmt_page_item *items, size_t count);
	void *user;
	struct gmt_page_item *items; /* GMT_PAGE_BATCHES batches; NULL at first */
	size_t count; /* items in the batch that is being filled */
	uint64_t filled; /* full batches so far */
	struct gmt_page_thread *thread; /* NULL: not started */
	bool has_no_thread; /* it could not be started */
};

/*
 * Returns the place of the next item; the caller fills all fields that its kind needs. NULL when
 * out of memory. `worker` is zeroed at first, except for `work` and `user`.
 */
struct gmt_page_item *gmt_page_worker_add(struct gmt_page_worker *worker);

/* Waits until all items are done. Returns false if some work failed. */
bool gmt_page_worker_finish(struct gmt_page_worker *worker);

/* Ends the thread and frees the memory. Items that are not done are lost. */
void gmt_page_worker_fini(struct gmt_page_worker *worker);

#endif
