/* SPDX-License-Identifier: MIT */
/* Counts and lists the live blocks. */
#include "accounting/accounting.h"

size_t gmt_accounting_block_count(const struct gmt_accounting *accounting)
{
	size_t count = 0;

	for (unsigned i = 0; i < GMT_ACCOUNTING_KEYSPACES; i++)
		count += accounting->blocks[i].count;
	return count;
}

static uint8_t layer_of(const struct gmt_accounting *accounting,
	const struct gmt_account_block *block)
{
	return accounting->accounts.items[accounting->sites.items[block->site].account].layer;
}

/* *cursor counts the slots of all maps, one map after the other. */
bool gmt_accounting_next_block(const struct gmt_accounting *accounting, uint8_t layer,
	size_t *cursor, struct gmt_addressed_block *ret_block)
{
	size_t first = 0;

	for (unsigned i = 0; i < GMT_ACCOUNTING_KEYSPACES; i++) {
		const struct gmt_map *blocks = &accounting->blocks[i];
		bool is_cuda = i < GMT_REALM_COUNT;

		bool is_other = layer != GMT_ACCOUNTING_ALL_OF_CUDA &&
			is_cuda != (gmt_layer_family(layer) == GMT_FAMILY_CUDA);

		if (is_other && *cursor < first + blocks->capacity)
			*cursor = first + blocks->capacity;
		for (; *cursor < first + blocks->capacity;) {
			const struct gmt_map_slot *slot = &blocks->slots[(*cursor)++ - first];

			if (!slot->value_plus_1)
				continue;
			ret_block->address = slot->key;
			ret_block->block = accounting->block_table.items[slot->value_plus_1 - 1];

			uint8_t block_layer = layer_of(accounting, &ret_block->block);
			if (block_layer == layer || (layer == GMT_ACCOUNTING_ALL_OF_CUDA && is_cuda))
				return true;
		}
		first += blocks->capacity;
	}
	return false;
}
