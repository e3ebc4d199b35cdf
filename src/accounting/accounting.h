/* SPDX-License-Identifier: MIT */
#ifndef GMT_ACCOUNTING_ACCOUNTING_H
#define GMT_ACCOUNTING_ACCOUNTING_H

/*
 * The accounting: which blocks are live, and what each site, space and device of each layer holds
 * now, held at most, and has ever allocated. In the flow: replay -> accounting -> analysis. The
 * recorder's writer may keep an accounting too. Calls must come in the order of the events. The
 * code uses no threads and no I/O. It takes its memory from base/ only.
 *
 * A key identifies a block. The key consists of the layer's family, the space's realm
 * (format/layers.def, spaces.def), and the block's address or handle. A block in a
 * reference-counted space lives until it was freed as often as it was allocated.
 *
 * An account is one layer on one device (or on the host). Reports call the account's peak "the
 * peak". A site's `peak_bytes` is what the site held at that moment. It is exact, and a new peak
 * costs nothing extra per site: see gmt_account_site_peak. Host memory (spaces on the host side) is
 * under device GMT_DEVICE_HOST.
 *
 * Sizes that no real machine can reach (GMT_ACCOUNTING_MAX_BYTES) are rejected and counted, so that
 * sums cannot overflow.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "format/format.h"

#define GMT_ACCOUNTING_MAX_BYTES ((uint64_t)1 << 62)

enum {
	GMT_ACCOUNTING_LAYERS = 8, /* all layer numbers are below this value */
	/* not a layer number: every layer of the CUDA family */
	GMT_ACCOUNTING_ALL_OF_CUDA = 255,
	GMT_ACCOUNTING_KEYSPACES = GMT_REALM_COUNT + GMT_FAMILY_COUNT - 1,
};

struct gmt_account_block {
	uint64_t size_bytes;
	uint64_t stamp; /* stamp of the allocation */
	uint64_t sequence; /* blocks are numbered from 1, in the order of their allocations */
	uint32_t site;
	uint32_t references; /* in an unused entry: index of the next unused entry, plus 1 */
	uint16_t context;    /* the end of this CUDA context also ends the block; 0: no context */
	uint32_t tag;        /* set by the owner, see gmt_accounting_set_tag; initially 0 */
};

/* Totals of one layer on one device. */
struct gmt_account {
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t peak_bytes;
	uint64_t peak_blocks; /* live blocks at the moment of the peak */
	uint64_t peak_stamp;  /* when the peak was first reached; valid if peak_number != 0 */
	uint64_t alloc_count;
	uint64_t free_count;
	uint64_t total_bytes; /* sum over all allocations; saturates at INT64_MAX */
	uint64_t refused_count;
	/* number of peaks so far. Each allocation that raises live_bytes above peak_bytes is a peak. */
	uint64_t peak_number;
	/* Totals that PyTorch itself reports. They are valid if has_totals is true. */
	uint64_t reported_allocated_bytes;
	uint64_t reported_allocated_peak_bytes;
	uint64_t reported_reserved_bytes;
	uint64_t reported_reserved_peak_bytes;
	/* reported_allocated_bytes minus live_bytes, at the last event */
	int64_t unseen_bytes;
	uint64_t reported_disagreements; /* how often unseen_bytes changed */
	bool has_totals;
	uint8_t layer;
	int16_t device;
};

/* Totals of one account in one space. */
struct gmt_account_space {
	uint32_t account;
	uint32_t space;
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t peak_bytes; /* peak of this space, independent of the account's peak */
	uint64_t peak_stamp;
};

struct gmt_account_site {
	uint32_t account;
	uint32_t space; /* index of its struct gmt_account_space */
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t max_live_bytes;
	uint64_t total_bytes;
	uint64_t alloc_count;
	uint64_t free_count;
	uint64_t refused_count;
	/*
	 * What the site held at the account's peak number `saved_peak_number`, if the site changed
	 * since.
	 */
	uint64_t saved_peak_number;
	uint64_t saved_bytes;
	uint64_t saved_blocks;
	/*
	 * What the site held at its heap's peak number `heap_saved_peak_number`, if the site changed
	 * since.
	 */
	uint64_t heap_saved_peak_number;
	uint64_t heap_saved_bytes;
	uint64_t heap_saved_blocks;
	uint32_t heap_plus_1; /* index of the heap that contains its blocks, plus 1; 0: no heap */
};

/*
 * Totals of the blocks in one heap of the program. A heap is a part of its account and has its own
 * peak.
 */
struct gmt_account_heap {
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t peak_bytes;
	uint64_t peak_blocks; /* live blocks at the moment of the peak */
	uint64_t peak_stamp;
	uint64_t alloc_count;
	uint64_t free_count;
	uint64_t total_bytes; /* sum over all allocations; saturates at INT64_MAX */
	uint64_t peak_number;       /* number of peaks so far, as in struct gmt_account */
};

/*
 * Counts events that do not fit the earlier events: events were lost, or the recording began late.
 */
struct gmt_accounting_anomalies {
#define GMT_ANOMALY(name, meaning) uint64_t name;
#include "accounting/anomalies.def"
#undef GMT_ANOMALY
};

struct gmt_accounting {
	/* maps an address to an index in block_table */
	struct gmt_map blocks[GMT_ACCOUNTING_KEYSPACES];
	uint64_t last_sequence; /* `sequence` of the newest block */
	GMT_VEC(struct gmt_account_block) block_table;
	uint32_t first_free_plus_1;
	/* index of the block that the last gmt_accounting_alloc made, plus 1; 0: it made no block */
	uint32_t new_block_plus_1;
	struct gmt_map account_ids;
	uint32_t last_account; /* cache of the last account lookup: its index, and its key plus 1 */
	uint64_t last_account_key_plus_1;
	struct gmt_map space_ids;
	GMT_VEC(struct gmt_account) accounts;
	GMT_VEC(struct gmt_account_space) spaces;
	GMT_VEC(struct gmt_account_site) sites;
	GMT_VEC(struct gmt_account_heap) heaps;
	struct gmt_accounting_anomalies anomalies;
	/*
	 * The block that the last gmt_accounting_alloc or gmt_accounting_free ended, if has_ended is
	 * true.
	 */
	struct gmt_account_block ended;
	bool has_ended;
};

/*
 * Adds a site. All blocks of a site have the same layer, device and space. Site ids count from 0.
 * Blocks in host spaces always belong to the host, whatever `device` says. Returns false when out
 * of memory.
 */
bool gmt_accounting_add_site(struct gmt_accounting *accounting, uint8_t layer, int16_t device,
	uint8_t space, uint32_t *ret_site);

/* Adds a heap. Heap ids count from 0. Returns false when out of memory. */
bool gmt_accounting_add_heap(struct gmt_accounting *accounting, uint32_t *ret_heap);

/* Assigns a site to a heap. The site must not have had a block yet. */
void gmt_accounting_put_in_heap(struct gmt_accounting *accounting, uint32_t site, uint32_t heap);

/*
 * Adds a block. If a block is already live at this address, its free was missed: the older block is
 * ended first, and counted as a missed free. In a reference-counted space, the older block gets one
 * more reference instead. Returns false when out of memory; then nothing has changed.
 */
bool gmt_accounting_alloc(struct gmt_accounting *accounting, uint32_t site_id, uint64_t address,
	uint64_t size_bytes, uint64_t stamp);

/*
 * Binds the block that the last gmt_accounting_alloc made to a context: the block ends with that
 * context. The last call must have made a block.
 */
void gmt_accounting_bind(struct gmt_accounting *accounting, uint16_t context);

/* Sets the owner's tag of the block at `address`, if that block is live. */
void gmt_accounting_set_tag(struct gmt_accounting *accounting, uint8_t layer, uint8_t space,
	uint64_t address, uint32_t tag);

/*
 * Ends the block at `address`, or removes one of its references (has_ended says which).
 * `size_bytes` is the size that the event states, 0 if it states no size. A difference from the
 * block's size is counted. Returns the block's site. If no block is live there, counts an unknown
 * free and returns UINT32_MAX.
 */
uint32_t gmt_accounting_free(struct gmt_accounting *accounting, uint8_t layer, uint8_t space,
	uint64_t address, uint64_t size_bytes);

/* Returns the live block at `address`, or NULL. The pointer is valid until the next call. */
const struct gmt_account_block *gmt_accounting_find(const struct gmt_accounting *accounting,
	uint8_t layer, uint8_t space, uint64_t address);

/*
 * Adds two numbers from a recording. The result is at most UINT64_MAX, so that no recording can
 * make the sum wrap.
 */
static inline uint64_t gmt_saturating_add_u64(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/*
 * Adds two byte counts. The result is at most INT64_MAX. Both counts must be at most INT64_MAX, so
 * that the addition cannot wrap.
 */
static inline uint64_t gmt_saturating_add_i64(uint64_t sum, uint64_t bytes)
{
	return sum + bytes > INT64_MAX ? INT64_MAX : sum + bytes;
}

/* Counts a refused request of `site_id`. */
void gmt_accounting_refuse(struct gmt_accounting *accounting, uint32_t site_id);

/*
 * Stores PyTorch's own totals, as PyTorch reported them with the last event on `device`. Returns
 * false when out of memory.
 */
bool gmt_accounting_set_reported_totals(struct gmt_accounting *accounting, uint8_t layer,
	int16_t device, uint64_t allocated_bytes, uint64_t reserved_bytes);

struct gmt_account_amount {
	uint64_t bytes;
	uint64_t blocks;
};

/*
 * Returns what the site held when its account last reached a new peak. The sum over all sites of an
 * account is the account's peak.
 */
struct gmt_account_amount gmt_account_site_peak(const struct gmt_accounting *accounting,
	uint32_t site_id);

/*
 * Returns what the site held when its heap last reached a new peak. Returns zeros for a site
 * without a heap.
 */
struct gmt_account_amount gmt_account_site_heap_peak(const struct gmt_accounting *accounting,
	uint32_t site_id);

/* Returns the account of a layer on a device, or NULL if that account had no event. */
const struct gmt_account *gmt_accounting_find_account(const struct gmt_accounting *accounting,
	uint8_t layer, int16_t device);

/*
 * Return the account of a layer on a device, and its part in one space. They create what does not
 * exist yet. `layer` must be below GMT_ACCOUNTING_LAYERS. They return NULL when out of memory.
 */
struct gmt_account *gmt_accounting_get_account(struct gmt_accounting *accounting, uint8_t layer,
	int16_t device);
struct gmt_account_space *gmt_accounting_get_space(struct gmt_accounting *accounting, uint8_t layer,
	int16_t device, uint8_t space);

/* A live block and its address. */
struct gmt_addressed_block {
	uint64_t address;
	struct gmt_account_block block;
};

/* Returns the number of live blocks in all layers. */
size_t gmt_accounting_block_count(const struct gmt_accounting *accounting);

/*
 * Returns the next live block of a layer. The order is arbitrary. Set *cursor to 0 before the first
 * call. The accounting must not change between the calls. Returns false after the last block.
 * `layer` may be GMT_ACCOUNTING_ALL_OF_CUDA.
 */
bool gmt_accounting_next_block(const struct gmt_accounting *accounting, uint8_t layer,
	size_t *cursor, struct gmt_addressed_block *ret_block);

void gmt_accounting_fini(struct gmt_accounting *accounting);

#endif
