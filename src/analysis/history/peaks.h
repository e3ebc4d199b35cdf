/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_HISTORY_PEAKS_H
#define GMT_ANALYSIS_HISTORY_PEAKS_H

/*
 * Which blocks lived when an account peaked last, told without a second look at the events: those that live now and
 * had begun by then, and those that had begun by then and have ended since. Only these are kept, and a new
 * peak forgets them: memory follows what lived at the peak. In the flow: replay -> peaks -> births, segments.
 *
 * At a peak of PyTorch's the driver's blocks on that device are kept too: layer torch's memory lies in them.
 */

#include <stdbool.h>
#include <stdint.h>

#include "containers/vec.h"
#include "accounting/accounting.h"

/* So many accounts have their peaks taken apart; no machine has more. */
enum { GMT_PEAKS_ACCOUNTS = 64 };

struct gmt_peaks_block {
	struct gmt_account_place place;
	uint32_t phase; /* of one that has ended: what gmt_peaks_end was told */
	bool has_ended;
};

struct gmt_peaks_blocks { /* a GMT_VEC */
	struct gmt_peaks_block *items;
	size_t count, capacity;
};

struct gmt_peak {
	uint64_t epoch;    /* the account's, as it was last looked at */
	uint64_t sequence; /* blocks that had begun by then; 0: there was no peak that is known block by block */
	uint64_t stamp;
	struct gmt_peaks_blocks ended; /* since, of the account and of the driver's on its device */
};

struct gmt_peaks {
	struct gmt_peak accounts[GMT_PEAKS_ACCOUNTS]; /* by index in the books */
	uint32_t torch_plus_1[GMT_PEAKS_ACCOUNTS]; /* by account of layer cuda: layer torch's on its device; 0: none */
	size_t known; /* accounts that were looked at for that */
};

/*
 * A block of the account is in the books: whether that is a peak, which is remembered then. Later accounts than
 * GMT_PEAKS_ACCOUNTS have none.
 */
bool gmt_peaks_began(struct gmt_peaks *peaks, const struct gmt_accounting *accounting, uint32_t account, uint64_t stamp);

/* The books were set: nobody knows which blocks lived at the peaks that they speak of now. */
void gmt_peaks_forget(struct gmt_peaks *peaks, const struct gmt_accounting *accounting);

/* A block has ended. False when out of memory. */
bool gmt_peaks_end(struct gmt_peaks *peaks, const struct gmt_accounting *accounting, const struct gmt_account_block *block,
	uint64_t address, uint32_t phase);

/* Whether the account's last peak is known block by block. */
bool gmt_peaks_knows(const struct gmt_peaks *peaks, const struct gmt_accounting *accounting, uint32_t account);

/*
 * The blocks of account `of` that lived at the peak of `account`, which is known; `of` is the account itself, or
 * layer cuda's on its device. By address. False when out of memory. `ret_blocks` (zeroed) is the caller's.
 */
bool gmt_peaks_list(const struct gmt_peaks *peaks, const struct gmt_accounting *accounting, uint32_t account, uint32_t of,
	struct gmt_peaks_blocks *ret_blocks);

/* Likewise of those that live now. */
bool gmt_peaks_list_now(const struct gmt_accounting *accounting, uint32_t of, struct gmt_peaks_blocks *ret_blocks);

void gmt_peaks_fini(struct gmt_peaks *peaks);

#endif
