/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_PEAKS_H
#define GMT_ANALYSIS_HISTORY_PEAKS_H

/*
 * Finds which blocks were live when an account last peaked, in a single pass over the events. These
 * are blocks that were allocated before the peak, and are either live now or were freed since. Only
 * the freed ones are stored here, and a new peak discards them. So this never stores more blocks
 * than were live at a peak. Data flow: replay -> peaks -> attribution, segments.
 *
 * At a peak of layer torch, the driver's blocks on that device are stored too, because they contain
 * the memory of layer torch.
 */

#include <stdbool.h>
#include <stdint.h>

#include "accounting/accounting.h"

/* Maximum number of accounts whose peaks are followed. No known machine has more. */
enum { GMT_PEAKS_ACCOUNTS = 64 };

struct gmt_peaks_block {
	struct gmt_addressed_block addressed;
	uint32_t phase; /* for a block that has ended: the `phase` passed to gmt_peaks_note_end */
	bool has_ended;
};

struct gmt_peaks_blocks { /* a GMT_VEC with a name, so that functions can take it */
	struct gmt_peaks_block *items;
	size_t count, capacity;
};

struct gmt_peak {
	uint64_t peak_number; /* the account's peak_number when it was last checked */
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
bool gmt_peaks_note_begin(struct gmt_peaks *peaks, const struct gmt_accounting *accounting,
	uint32_t account, uint64_t stamp);

/*
 * Forgets all peaks. Called when the values of the accounting were set directly: it is unknown
 * which blocks lived at their peaks.
 */
void gmt_peaks_forget(struct gmt_peaks *peaks, const struct gmt_accounting *accounting);

/* Records that a block ended. Returns false when out of memory. */
bool gmt_peaks_note_end(struct gmt_peaks *peaks, const struct gmt_accounting *accounting,
	const struct gmt_account_block *block, uint64_t address, uint32_t phase);

/* Returns whether the blocks of the account's last peak are known. */
bool gmt_peaks_knows(const struct gmt_peaks *peaks, const struct gmt_accounting *accounting,
	uint32_t account);

/*
 * Lists the blocks of account `of` that lived at the peak of `account`, by address. The peak must
 * be known. `of` is the account itself, or the account of layer cuda on its device. `ret_blocks`
 * must be zeroed and belongs to the caller. Returns false when out of memory.
 */
bool gmt_peaks_list(const struct gmt_peaks *peaks, const struct gmt_accounting *accounting,
	uint32_t account, uint32_t of, struct gmt_peaks_blocks *ret_blocks);

/* Lists the blocks of account `of` that are live now. The rest is as for gmt_peaks_list. */
bool gmt_peaks_list_now(const struct gmt_accounting *accounting, uint32_t of,
	struct gmt_peaks_blocks *ret_blocks);

void gmt_peaks_fini(struct gmt_peaks *peaks);

#endif
