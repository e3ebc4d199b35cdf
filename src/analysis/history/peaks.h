/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_PEAKS_H
#define GMT_ANALYSIS_HISTORY_PEAKS_H

/*
 * Finds which blocks lived when an account last peaked, in a single pass over the events. These are
 * the blocks that had begun at the peak, and either still live or have ended since. Only the ended
 * blocks are stored, and a new peak discards them. So the memory use depends on what lived at the
 * peak. Data flow: replay -> peaks -> attribution, segments.
 *
 * At a peak of layer torch, the driver's blocks on that device are stored too, because they contain
 * the memory of layer torch.
 */

#include <stdbool.h>
#include <stdint.h>

#include "accounting/accounting.h"

/* Most accounts whose peaks are followed. No machine has more. */
enum { GMT_PEAKS_ACCOUNTS = 64 };

struct gmt_peaks_block {
	struct gmt_addressed_block addressed;
	uint32_t phase; /* for a block that has ended: the `phase` passed to gmt_peaks_end */
	bool has_ended;
};

struct gmt_peaks_blocks { /* Layout of a GMT_VEC. */
	struct gmt_peaks_block *items;
	size_t count, capacity;
};

struct gmt_peak {
	uint64_t epoch;    /* the account's epoch when it was last checked */
	/* Number of blocks that had begun at the peak. 0: the blocks of the peak are unknown. */
	uint64_t sequence;
	uint64_t stamp;
	/* Blocks that ended since the peak: those of the account, and the driver's on its device. */
	struct gmt_peaks_blocks ended;
};

struct gmt_peaks {
	struct gmt_peak accounts[GMT_PEAKS_ACCOUNTS]; /* by index in the accounting */
	/*
	 * By account of layer cuda: the account of layer torch on its device, + 1. 0: there is no such
	 * account.
	 */
	uint32_t torch_plus_1[GMT_PEAKS_ACCOUNTS];
	size_t known; /* number of accounts that were checked for torch_plus_1 */
};

/*
 * Returns whether the account peaks now, after a block of it was added to the accounting, and
 * stores the peak. Accounts from GMT_PEAKS_ACCOUNTS on have no peaks.
 */
bool gmt_peaks_began(struct gmt_peaks *peaks, const struct gmt_accounting *accounting,
	uint32_t account, uint64_t stamp);

/*
 * Forgets all peaks. Called when the values of the accounting were set directly: it is unknown
 * which blocks lived at their peaks.
 */
void gmt_peaks_forget(struct gmt_peaks *peaks, const struct gmt_accounting *accounting);

/* Records the end of a block. False when out of memory. */
bool gmt_peaks_end(struct gmt_peaks *peaks, const struct gmt_accounting *accounting,
	const struct gmt_account_block *block, uint64_t address, uint32_t phase);

/* Returns whether the blocks of the account's last peak are known. */
bool gmt_peaks_knows(const struct gmt_peaks *peaks, const struct gmt_accounting *accounting,
	uint32_t account);

/*
 * Lists the blocks of account `of` that lived at the peak of `account`, by address. The peak must
 * be known. `of` is the account itself, or the account of layer cuda on its device. `ret_blocks`
 * must be zeroed and belongs to the caller. False when out of memory.
 */
bool gmt_peaks_list(const struct gmt_peaks *peaks, const struct gmt_accounting *accounting,
	uint32_t account, uint32_t of, struct gmt_peaks_blocks *ret_blocks);

/* Same as above, for the blocks that live now. */
bool gmt_peaks_list_now(const struct gmt_accounting *accounting, uint32_t of,
	struct gmt_peaks_blocks *ret_blocks);

void gmt_peaks_fini(struct gmt_peaks *peaks);

#endif
