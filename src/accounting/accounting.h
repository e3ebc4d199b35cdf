/* SPDX-License-Identifier: MIT */
#ifndef GMT_ACCOUNTING_ACCOUNTING_H
#define GMT_ACCOUNTING_ACCOUNTING_H

/*
 * The books: which blocks live, and what each site, space and device of each layer holds, held at
 * most and has had. In the flow: replay -> books -> analysis; the recorder's writer may keep them
 * too. Calls must come in the order of the events. No threads, no I/O; memory from base/ only.
 *
 * A block is known by what its number is an address or handle of: the layer's family and the space's
 * realm (format/layers.def, spaces.def). One of a space that counts references lives until it was freed as
 * often as it was allocated.
 *
 * An account is one layer on one device (or the host); its peak is what reports call the peak. A
 * site's `peak_bytes` is what the site held at that moment, kept exactly and at no cost per peak:
 * see gmt_account_site_peak. Host memory (spaces of the host's side) is under device GMT_DEVICE_HOST.
 *
 * Numbers that no real machine can reach (GMT_ACCOUNTING_MAX_BYTES) are refused and counted, so that sums
 * cannot overflow.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/map.h"
#include "containers/vec.h"
#include "format/format.h"

#define GMT_ACCOUNTING_MAX_BYTES ((uint64_t)1 << 62)

enum {
	GMT_ACCOUNTING_LAYERS = 8, /* layer numbers are below this */
	GMT_ACCOUNTING_ALL_OF_CUDA = 255, /* instead of a layer: all of CUDA's family */
	GMT_ACCOUNTING_KEYSPACES = GMT_REALM_COUNT + GMT_FAMILY_COUNT - 1,
};

struct gmt_account_block {
	uint64_t size_bytes;
	uint64_t stamp; /* of its allocation */
	uint64_t sequence; /* blocks that had begun by then, with this one */
	uint32_t site;
	uint32_t references; /* of an unused entry: the next unused one, plus 1 */
	uint16_t context;    /* number of the CUDA context that it ends with; 0: it does not */
	uint32_t tag;        /* the owner's, see gmt_account_tag; 0 at first */
};

/* What one layer holds on one device. */
struct gmt_account {
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t peak_bytes;
	uint64_t peak_blocks; /* live at that moment */
	uint64_t peak_stamp;  /* when it was first reached; meaningful when epoch != 0 */
	uint64_t alloc_count;
	uint64_t free_count;
	uint64_t total_bytes; /* of all allocations ever; stops at INT64_MAX */
	uint64_t refused_count;
	uint64_t epoch;       /* peaks so far: each allocation above all before is one */
	/* What PyTorch says of itself; has_totals: it did. */
	uint64_t told_allocated_bytes;
	uint64_t told_allocated_peak_bytes;
	uint64_t told_reserved_bytes;
	uint64_t told_reserved_peak_bytes;
	int64_t unseen_bytes;          /* told less our own sum, at the last event */
	uint64_t told_disagreements;   /* how often that difference changed */
	bool has_totals;
	uint8_t layer;
	int16_t device;
};

/* What an account holds in one space. */
struct gmt_account_space {
	uint32_t account;
	uint32_t space;
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t peak_bytes; /* this space's own */
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
	/* What it held at the account's peak number `saved_epoch`, if it changed since. */
	uint64_t saved_epoch;
	uint64_t saved_bytes;
	uint64_t saved_blocks;
	/* Likewise of its heap. */
	uint64_t heap_saved_epoch;
	uint64_t heap_saved_bytes;
	uint64_t heap_saved_blocks;
	uint32_t heap_plus_1; /* the heap that its blocks are in; 0: none */
};

/* What the blocks in a heap of the program's hold: a part of its account that has a peak of its own. */
struct gmt_account_heap {
	uint64_t live_bytes;
	uint64_t live_blocks;
	uint64_t peak_bytes;
	uint64_t peak_blocks; /* live at that moment */
	uint64_t peak_stamp;
	uint64_t alloc_count;
	uint64_t free_count;
	uint64_t total_bytes; /* of all allocations ever; stops at INT64_MAX */
	uint64_t epoch;       /* as an account's */
};

/* Events that do not fit what came before: lost events, or a recording that began late. */
struct gmt_accounting_anomalies {
#define GMT_ANOMALY(name, meaning) uint64_t name;
#include "accounting/anomalies.def"
#undef GMT_ANOMALY
};

struct gmt_accounting {
	struct gmt_map blocks[GMT_ACCOUNTING_KEYSPACES]; /* address to index in block_table */
	uint64_t began; /* blocks, ever */
	GMT_VEC(struct gmt_account_block) block_table;
	uint32_t first_free_plus_1;
	uint32_t made_plus_1; /* the block that the last gmt_accounting_alloc made; 0: none */
	struct gmt_map account_ids;
	uint32_t last_account; /* that was looked for, by its key */
	uint64_t last_account_key_plus_1;
	struct gmt_map space_ids;
	GMT_VEC(struct gmt_account) accounts;
	GMT_VEC(struct gmt_account_space) spaces;
	GMT_VEC(struct gmt_account_site) sites;
	GMT_VEC(struct gmt_account_heap) heaps;
	struct gmt_accounting_anomalies anomalies;
	/* The block that the last gmt_accounting_alloc or gmt_accounting_free ended, when has_ended. */
	struct gmt_account_block ended;
	bool has_ended;
};

/*
 * A new site, whose blocks are all of one layer, device and space; ids count from 0. Blocks of host
 * spaces go to the host, whatever `device` says. False when out of memory.
 */
bool gmt_accounting_add_site(struct gmt_accounting *accounting, uint8_t layer, int16_t device, uint8_t space,
	uint32_t *ret_site);

/* A new heap; ids count from 0. False when out of memory. */
bool gmt_accounting_add_heap(struct gmt_accounting *accounting, uint32_t *ret_heap);

/* The blocks of a site that has had none yet will be in this heap. */
void gmt_accounting_put_in_heap(struct gmt_accounting *accounting, uint32_t site, uint32_t heap);

/*
 * A block comes to life. When its address is already alive, the event that freed the older block was
 * missed: that one is closed first, and counted; in a space that counts references, the older block has
 * one more instead. False when out of memory, nothing changed.
 */
bool gmt_accounting_alloc(struct gmt_accounting *accounting, uint32_t site, uint64_t address, uint64_t size_bytes,
	uint64_t stamp);

/* The block that the last gmt_accounting_alloc made, which made one, ends with that context. */
void gmt_accounting_bind(struct gmt_accounting *accounting, uint16_t context);

/* Lets the block at `address`, if it lives, have the owner's number. */
void gmt_account_tag(struct gmt_accounting *accounting, uint8_t layer, uint8_t space, uint64_t address, uint32_t tag);

/*
 * The block at `address` ends, or loses a reference (has_ended says). `size_bytes` is what the event
 * said, 0 when it did not; a difference to the block is counted. Returns the site of the block;
 * UINT32_MAX, counted, when there is none.
 */
uint32_t gmt_accounting_free(struct gmt_accounting *accounting, uint8_t layer, uint8_t space, uint64_t address,
	uint64_t size_bytes);

/* The live block at `address`; NULL when there is none. Valid until the next call. */
const struct gmt_account_block *gmt_accounting_find(const struct gmt_accounting *accounting, uint8_t layer, uint8_t space,
	uint64_t address);

/* A sum of sizes that no recording can make wrap. */
static inline uint64_t gmt_account_sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* A sum of bytes that stays one; both are at most INT64_MAX, so that nothing wraps. */
static inline uint64_t gmt_account_sum_bytes(uint64_t sum, uint64_t bytes)
{
	return sum + bytes > INT64_MAX ? INT64_MAX : sum + bytes;
}

/* A request at `site` was refused. */
void gmt_accounting_refuse(struct gmt_accounting *accounting, uint32_t site);

/*
 * PyTorch's own totals, as it reported them with the event that was just booked on its `device`.
 * False when out of memory.
 */
bool gmt_account_totals(struct gmt_accounting *accounting, uint8_t layer, int16_t device, uint64_t allocated_bytes,
	uint64_t reserved_bytes);

struct gmt_account_amount {
	uint64_t bytes;
	uint64_t blocks;
};

/* What the site held when its account last reached a new peak. Over an account they sum to the peak. */
struct gmt_account_amount gmt_account_site_peak(const struct gmt_accounting *accounting, uint32_t site);

/* Likewise, when its heap last reached a new peak; nothing for a site without one. */
struct gmt_account_amount gmt_account_site_heap_peak(const struct gmt_accounting *accounting, uint32_t site);

/* The account of a layer on a device; NULL when it had no event. */
const struct gmt_account *gmt_accounting_find_account(const struct gmt_accounting *accounting, uint8_t layer,
	int16_t device);

/* The account of a layer (below GMT_ACCOUNTING_LAYERS) on a device, and its space; made where there is none. NULL: out of memory. */
struct gmt_account *gmt_accounting_get_account(struct gmt_accounting *accounting, uint8_t layer, int16_t device);
struct gmt_account_space *gmt_accounting_get_space(struct gmt_accounting *accounting, uint8_t layer, int16_t device, uint8_t space);

/* A live block and where it is. */
struct gmt_account_place {
	uint64_t address;
	struct gmt_account_block block;
};

/* How many blocks live, in all layers. */
size_t gmt_account_block_count(const struct gmt_accounting *accounting);

/*
 * The live blocks of a layer, one at each call and in no order. *cursor is 0 at first; nothing may be
 * booked in between. False when there are no more. `layer` may
 * be GMT_ACCOUNTING_ALL_OF_CUDA.
 */
bool gmt_accounting_next_block(const struct gmt_accounting *accounting, uint8_t layer, size_t *cursor,
	struct gmt_account_place *ret_place);

void gmt_accounting_fini(struct gmt_accounting *accounting);

#endif
