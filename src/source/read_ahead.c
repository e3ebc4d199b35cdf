/* SPDX-License-Identifier: MIT */
#include "source/read_ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "base/pages.h"
#include "format/encoding/decode_rows.h"

enum {
	SLOTS = 4,
	/* A smaller file is read completely before a thread would have started. */
	THREAD_FROM_BYTES = 256 << 10,
	/*
	 * The limit for the blocks that wait, and for memory that is kept. Larger blocks, which no
	 * recorder makes, come one at a time.
	 */
	MAX_BYTES = 8 << 20,
};

/* One block on its way: decoded, or as in the file. */
struct slot {
	/* a copy, because the source's own buffer is valid only until its next block */
	GMT_VEC(uint8_t) payload;
	struct gmt_columns columns;
	struct gmt_block block;
	bool is_decoded; /* decoded to columns */
	struct gmt_source_progress progress;
	enum gmt_status status;
	struct gmt_error error;
};

struct gmt_read_ahead {
	struct gmt_source *source;
	struct gmt_decoder decoder; /* used by the caller's thread */
	struct gmt_columns
		columns; /* used by the caller's thread, for event blocks that no slot holds */
	size_t decoded_bytes;       /* size of the memory that `decoder` and `columns` keep */
	struct slot slots[SLOTS]; /* block number n is at index n % SLOTS */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Protected by the lock. */
	uint64_t made, taken; /* numbers of the next block to make and to take */
	size_t ready_bytes;   /* total size of the blocks between `taken` and `made` */
	bool is_waiting;      /* the caller waits for the next block */
	bool is_closing;
};

static bool uses_no_thread;

void gmt_read_ahead_use_no_thread(void)
{
	uses_no_thread = true;
}

static bool copy_payload(struct slot *slot)
{
	slot->payload.count = 0;
	/* + 1, so that an empty block has memory too. */
	if (!gmt_vec_reserve(&slot->payload, (size_t)slot->block.size_bytes + 1))
		return false;
	if (slot->block.size_bytes)
		memcpy(slot->payload.items, slot->block.payload, slot->block.size_bytes);
	slot->block.payload = slot->payload.items;
	return true;
}

/* Returns the size of an event block after decoding. */
static size_t columns_bytes(const struct gmt_block *block)
{
	return (size_t)block->rows * gmt_record_info(GMT_RECORD_EVENT)->field_count * sizeof(uint64_t);
}

/* `decodes`: decodes an event block here, not in the caller's thread. */
static enum gmt_status copy_block(struct slot *slot, bool decodes)
{
	if (decodes && slot->block.kind == GMT_RECORD_EVENT &&
		columns_bytes(&slot->block) <= MAX_BYTES) {
		slot->is_decoded = true;
		return gmt_decode_columns(&slot->columns, &slot->block, &slot->error);
	}
	return copy_payload(slot) ? GMT_OK
							  : gmt_error_set(&slot->error, GMT_NO_MEMORY, "out of memory");
}

/* Returns the memory size of a filled slot. */
static size_t slot_bytes(const struct slot *slot)
{
	return slot->is_decoded ? columns_bytes(&slot->block) : slot->block.size_bytes;
}

/* Reads the next block into a slot. */
static void fill_slot(struct gmt_read_ahead *read_ahead, struct slot *slot)
{
	/* Frees the memory of a block that is too large to come from a recorder. */
	if (slot->block.size_bytes > MAX_BYTES)
		gmt_vec_fini(&slot->payload);
	slot->error = (struct gmt_error){ 0 };
	slot->block = (struct gmt_block){ 0 };
	slot->status = gmt_source_next(read_ahead->source, &slot->block, &slot->error);
	slot->progress = gmt_source_progress(read_ahead->source);
	slot->is_decoded = false;
}

/*
 * Returns whether the thread may continue: a slot is free, and the waiting blocks are within the
 * limit.
 */
static bool has_room(const struct gmt_read_ahead *read_ahead)
{
	/* The block that was taken last is in use until the next block is taken. */
	return read_ahead->made - read_ahead->taken < SLOTS - 1 &&
		(read_ahead->made == read_ahead->taken || read_ahead->ready_bytes < MAX_BYTES);
}

static void *work(void *argument)
{
	struct gmt_read_ahead *read_ahead = argument;
	enum gmt_status status = GMT_OK;
	bool decodes;

	pthread_mutex_lock(&read_ahead->lock);
	while (!status && !read_ahead->is_closing) {
		struct slot *slot = &read_ahead->slots[read_ahead->made % SLOTS];

		if (!has_room(read_ahead)) {
			pthread_cond_wait(&read_ahead->changed, &read_ahead->lock);
			continue;
		}
		pthread_mutex_unlock(&read_ahead->lock);
		fill_slot(read_ahead, slot);
		pthread_mutex_lock(&read_ahead->lock);
		decodes = !read_ahead->is_waiting;
		pthread_mutex_unlock(&read_ahead->lock);
		if (!slot->status)
			slot->status = copy_block(slot, decodes);
		status = slot->status;
		pthread_mutex_lock(&read_ahead->lock);
		read_ahead->made++;
		read_ahead->ready_bytes += slot_bytes(slot);
		pthread_cond_broadcast(&read_ahead->changed);
	}
	pthread_mutex_unlock(&read_ahead->lock);
	return NULL;
}

/* Starts the thread. If this fails, the caller's thread does the work. */
static void start(struct gmt_read_ahead *read_ahead)
{
	sigset_t all, before;

	/* Signals are for the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	read_ahead->has_thread = !pthread_create(&read_ahead->thread, NULL, work, read_ahead);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct gmt_read_ahead *gmt_read_ahead_open(struct gmt_source *source)
{
	struct gmt_read_ahead *read_ahead = gmt_pages_grow(NULL, 0, sizeof(*read_ahead));

	if (!read_ahead)
		return NULL;
	read_ahead->source = source;
	pthread_mutex_init(&read_ahead->lock, NULL);
	pthread_cond_init(&read_ahead->changed, NULL);
	if (!uses_no_thread && gmt_source_may_use_thread(source, THREAD_FROM_BYTES))
		start(read_ahead);
	return read_ahead;
}

/* Waits for the next filled slot and takes it. */
static struct slot *take_slot(struct gmt_read_ahead *read_ahead)
{
	struct slot *slot = &read_ahead->slots[read_ahead->taken % SLOTS];

	if (!read_ahead->has_thread) {
		fill_slot(read_ahead, slot);
		return slot;
	}
	pthread_mutex_lock(&read_ahead->lock);
	read_ahead->is_waiting = read_ahead->made == read_ahead->taken;
	while (read_ahead->made == read_ahead->taken)
		pthread_cond_wait(&read_ahead->changed, &read_ahead->lock);
	read_ahead->is_waiting = false;
	read_ahead->taken++;
	read_ahead->ready_bytes -= slot_bytes(slot);
	pthread_cond_broadcast(&read_ahead->changed);
	pthread_mutex_unlock(&read_ahead->lock);
	return slot;
}

enum gmt_status gmt_read_ahead_next(struct gmt_read_ahead *read_ahead,
	struct gmt_read_ahead_block *ret_block, struct gmt_error *error)
{
	struct slot *slot = take_slot(read_ahead);
	const struct gmt_record_info *record = gmt_record_info(slot->block.kind);

	*ret_block = (struct gmt_read_ahead_block){ .record = record,
		.count = slot->block.rows,
		.payload_bytes = slot->block.size_bytes,
		.progress = slot->progress };
	if (slot->status && error)
		*error = slot->error;
	if (slot->status || !record)
		return slot->status;
	if (read_ahead->decoded_bytes > MAX_BYTES) {
		gmt_decoder_fini(&read_ahead->decoder);
		gmt_columns_fini(&read_ahead->columns);
		read_ahead->decoded_bytes = 0;
	}
	if (slot->is_decoded) {
		ret_block->columns = &slot->columns;
		return GMT_OK;
	}
	if (record->number == GMT_RECORD_EVENT) {
		read_ahead->decoded_bytes = columns_bytes(&slot->block);
		ret_block->columns = &read_ahead->columns;
		return gmt_decode_columns(&read_ahead->columns, &slot->block, error);
	}
	/* The rows and their lists. */
	read_ahead->decoded_bytes =
		(size_t)slot->block.rows * record->row_bytes + slot->block.size_bytes * sizeof(uint64_t);
	return gmt_decode_rows(&read_ahead->decoder, &slot->block, &ret_block->rows, error);
}

void gmt_read_ahead_close(struct gmt_read_ahead *read_ahead)
{
	if (!read_ahead)
		return;
	if (read_ahead->has_thread) {
		pthread_mutex_lock(&read_ahead->lock);
		read_ahead->is_closing = true;
		pthread_cond_broadcast(&read_ahead->changed);
		pthread_mutex_unlock(&read_ahead->lock);
		pthread_join(read_ahead->thread, NULL);
	}
	for (size_t i = 0; i < SLOTS; i++) {
		gmt_vec_fini(&read_ahead->slots[i].payload);
		gmt_columns_fini(&read_ahead->slots[i].columns);
	}
	gmt_decoder_fini(&read_ahead->decoder);
	gmt_columns_fini(&read_ahead->columns);
	pthread_cond_destroy(&read_ahead->changed);
	pthread_mutex_destroy(&read_ahead->lock);
	gmt_pages_free(read_ahead, sizeof(*read_ahead));
}
