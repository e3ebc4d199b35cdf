/* SPDX-License-Identifier: MIT */
#include "analysis/history/peaks.h"

#include <stdlib.h>

/* Pairs the accounts of layers cuda and torch on each device, once for each new account. */
static void add_new_accounts(struct gmt_peaks *peaks, const struct gmt_accounting *accounting)
{
	for (; peaks->known < accounting->accounts.count && peaks->known < GMT_PEAKS_ACCOUNTS;
		peaks->known++) {
		const struct gmt_account *new = &accounting->accounts.items[peaks->known];

		for (size_t i = 0; i < peaks->known; i++) {
			const struct gmt_account *other = &accounting->accounts.items[i];

			if (other->device != new->device)
				continue;
			if (new->layer == GMT_LAYER_TORCH && other->layer == GMT_LAYER_CUDA)
				peaks->torch_plus_1[i] = (uint32_t)peaks->known + 1;
			if (new->layer == GMT_LAYER_CUDA && other->layer == GMT_LAYER_TORCH)
				peaks->torch_plus_1[peaks->known] = (uint32_t)i + 1;
		}
	}
}

bool gmt_peaks_note_begin(struct gmt_peaks *peaks, const struct gmt_accounting *accounting,
	uint32_t account, uint64_t stamp)
{
	struct gmt_peak *peak;

	if (account >= GMT_PEAKS_ACCOUNTS ||
		peaks->accounts[account].peak_number == accounting->accounts.items[account].peak_number)
		return false;
	peak = &peaks->accounts[account];
	peak->peak_number = accounting->accounts.items[account].peak_number;
	peak->sequence = accounting->last_sequence;
	peak->stamp = stamp;
	peak->ended.count = 0;
	return true;
}

void gmt_peaks_forget(struct gmt_peaks *peaks, const struct gmt_accounting *accounting)
{
	for (size_t i = 0; i < accounting->accounts.count && i < GMT_PEAKS_ACCOUNTS; i++) {
		peaks->accounts[i].peak_number = accounting->accounts.items[i].peak_number;
		peaks->accounts[i].sequence = 0;
		peaks->accounts[i].ended.count = 0;
	}
}

static bool store_block(struct gmt_peak *peak, const struct gmt_account_block *block,
	uint64_t address, uint32_t phase)
{
	struct gmt_peaks_block *slot = gmt_vec_push(&peak->ended);

	if (slot)
		*slot = (struct gmt_peaks_block){
			.addressed = { address, *block }, .phase = phase, .has_ended = true
		};
	return slot;
}

bool gmt_peaks_note_end(struct gmt_peaks *peaks, const struct gmt_accounting *accounting,
	const struct gmt_account_block *block, uint64_t address, uint32_t phase)
{
	uint32_t account = accounting->sites.items[block->site].account, torch;

	if (account >= GMT_PEAKS_ACCOUNTS)
		return true;
	if (block->sequence <= peaks->accounts[account].sequence &&
		!store_block(&peaks->accounts[account], block, address, phase))
		return false;
	if (peaks->known < accounting->accounts.count)
		add_new_accounts(peaks, accounting);
	torch = peaks->torch_plus_1[account];
	return !torch || block->sequence > peaks->accounts[torch - 1].sequence ||
		store_block(&peaks->accounts[torch - 1], block, address, phase);
}

bool gmt_peaks_knows(const struct gmt_peaks *peaks, const struct gmt_accounting *accounting,
	uint32_t account)
{
	return account < GMT_PEAKS_ACCOUNTS && peaks->accounts[account].sequence &&
		peaks->accounts[account].peak_number == accounting->accounts.items[account].peak_number;
}

/* Lists live blocks that were among the first `sequence` blocks to begin. */
static bool list_live(const struct gmt_accounting *accounting, uint32_t of, uint64_t sequence,
	struct gmt_peaks_blocks *ret_blocks)
{
	struct gmt_addressed_block addressed;
	size_t cursor = 0;

	while (gmt_accounting_next_block(accounting, accounting->accounts.items[of].layer, &cursor,
		&addressed)) {
		struct gmt_peaks_block *slot;

		if (accounting->sites.items[addressed.block.site].account != of ||
			addressed.block.sequence > sequence)
			continue;
		slot = gmt_vec_push(ret_blocks);
		if (!slot)
			return false;
		*slot = (struct gmt_peaks_block){ .addressed = addressed };
	}
	return true;
}

static int by_address(const void *left, const void *right)
{
	const struct gmt_peaks_block *a = left, *b = right;

	if (a->addressed.address != b->addressed.address)
		return a->addressed.address < b->addressed.address ? -1 : 1;
	return (a->addressed.block.sequence > b->addressed.block.sequence) -
		(a->addressed.block.sequence < b->addressed.block.sequence);
}

static void sort(struct gmt_peaks_blocks *blocks)
{
	if (blocks->count)
		qsort(blocks->items, blocks->count, sizeof(*blocks->items), by_address);
}

bool gmt_peaks_list(const struct gmt_peaks *peaks, const struct gmt_accounting *accounting,
	uint32_t account, uint32_t of, struct gmt_peaks_blocks *ret_blocks)
{
	const struct gmt_peak *peak = &peaks->accounts[account];

	if (!list_live(accounting, of, peak->sequence, ret_blocks))
		return false;
	for (size_t i = 0; i < peak->ended.count; i++) {
		const struct gmt_peaks_block *block = &peak->ended.items[i];
		struct gmt_peaks_block *slot;

		if (accounting->sites.items[block->addressed.block.site].account != of)
			continue;
		slot = gmt_vec_push(ret_blocks);
		if (!slot)
			return false;
		*slot = *block;
	}
	sort(ret_blocks);
	return true;
}

bool gmt_peaks_list_now(const struct gmt_accounting *accounting, uint32_t of,
	struct gmt_peaks_blocks *ret_blocks)
{
	bool done = list_live(accounting, of, UINT64_MAX, ret_blocks);

	sort(ret_blocks);
	return done;
}

void gmt_peaks_fini(struct gmt_peaks *peaks)
{
	for (size_t i = 0; i < GMT_PEAKS_ACCOUNTS; i++)
		gmt_vec_fini(&peaks->accounts[i].ended);
}
