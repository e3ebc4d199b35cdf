/* SPDX-License-Identifier: MIT */
#include "writer/journal.h"

#include <string.h>

static uint64_t entry_bytes(uint64_t length)
{
	return sizeof(struct gmt_journal_entry) + ((length + 7) & ~(uint64_t)7);
}

void gmt_journal_init(struct gmt_journal *ret_journal, void *memory, uint64_t bytes)
{
	*ret_journal = (struct gmt_journal){
		.memory = memory,
		.size_bytes = bytes - sizeof(struct gmt_shared_recording_journal),
	};
}

bool gmt_journal_has_room(const struct gmt_journal *journal, uint64_t length)
{
	return entry_bytes(length) <= journal->size_bytes - journal->staged_bytes;
}

bool gmt_journal_stage(struct gmt_journal *journal, enum gmt_journal_kind kind, const void *bytes,
	uint32_t length)
{
	struct gmt_journal_entry head = { .kind = kind, .length = length };
	uint8_t *to = journal->memory->entries + journal->staged_bytes;

	if (!gmt_journal_has_room(journal, length))
		return false;
	memcpy(to, &head, sizeof(head));
	memcpy(to + sizeof(head), bytes, length);
	journal->staged_bytes += entry_bytes(length);
	return true;
}

uint64_t gmt_journal_commit(struct gmt_journal *journal)
{
	uint64_t before = atomic_load_explicit(&journal->memory->used_bytes, memory_order_relaxed);

	/*
	 * Pairs with the reader that maps the file after a kill: the entries are in memory before their
	 * length.
	 */
	atomic_store_explicit(&journal->memory->used_bytes, journal->staged_bytes,
		memory_order_release);
	return before;
}

void gmt_journal_drop(struct gmt_journal *journal)
{
	journal->staged_bytes =
		atomic_load_explicit(&journal->memory->used_bytes, memory_order_relaxed);
}

const void *gmt_journal_next(const struct gmt_journal *journal, uint64_t *at, uint32_t *ret_length)
{
	while (*at < journal->staged_bytes) {
		const uint8_t *from = journal->memory->entries + *at;
		struct gmt_journal_entry head;

		memcpy(&head, from, sizeof(head));
		*at += entry_bytes(head.length);
		if (head.kind == GMT_JOURNAL_BLOCK) {
			*ret_length = head.length;
			return from + sizeof(head);
		}
	}
	return NULL;
}

void gmt_journal_reset(struct gmt_journal *journal, uint64_t stamp)
{
	journal->staged_bytes = 0;
	/* The order matters: the old entries must never seem to follow the new sync point. */
	atomic_store_explicit(&journal->memory->used_bytes, 0, memory_order_release);
	atomic_store_explicit(&journal->memory->base_stamp, stamp, memory_order_release);
}
