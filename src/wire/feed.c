/* SPDX-License-Identifier: MIT */
#include "wire/feed.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "base/pages.h"
#include "wire/decode.h"

enum {
	PLACES = 4,
	/* Smaller files are read before a thread would be there. */
	THREAD_FROM_BYTES = 256 << 10,
	/* No more lies ready, and no place keeps more: blocks that no recorder makes come one at a time. */
	MOST_BYTES = 8 << 20,
};

/* One block on its way. */
struct place {
	struct gmt_decoder decoder;
	GMT_VEC(uint8_t) payload; /* a copy, where rows point into it */
	struct gmt_feed_block block;
	size_t bytes;
	enum gmt_status status;
	struct gmt_error error;
};

struct gmt_feed {
	struct gmt_source *source;
	struct place places[PLACES]; /* number n is at n % PLACES */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	uint64_t made, taken; /* numbers of the next ones */
	size_t ready_bytes;   /* of those between */
	bool is_closing;
};

static bool has_text(const struct gmt_record_info *record)
{
	for (uint32_t i = 0; i < record->field_count; i++)
		if (record->fields[i].encoding == 'S')
			return true;
	return false;
}

/* The rows' strings must outlive the source's own copy. */
static bool keep_payload(struct place *place, struct gmt_block *block)
{
	place->payload.count = 0;
	if (!gmt_vec_reserve(&place->payload, block->size_bytes))
		return false;
	memcpy(place->payload.items, block->payload, block->size_bytes);
	block->payload = place->payload.items;
	return true;
}

static void make(struct gmt_feed *feed, struct place *place)
{
	struct gmt_block block;

	place->bytes = 0;
	place->error = (struct gmt_error){ 0 };
	place->status = gmt_source_next(feed->source, &block, &place->error);
	place->block = (struct gmt_feed_block){ .progress = gmt_source_progress(feed->source) };
	if (place->status)
		return;
	place->block.count = block.rows;
	place->block.record = gmt_record_info(block.kind);
	if (!place->block.record)
		return;
	place->bytes = (size_t)block.rows * place->block.record->row_bytes + block.size_bytes * sizeof(uint64_t); /* lists */
	if (has_text(place->block.record) && !keep_payload(place, &block))
		place->status = gmt_error_set(&place->error, GMT_NO_MEMORY, "out of memory");
	else
		place->status = gmt_decode_rows(&place->decoder, &block, &place->block.rows, &place->error);
}

static void empty(struct place *place)
{
	gmt_decoder_fini(&place->decoder);
	gmt_vec_fini(&place->payload);
}

/* Whether the thread may go on: there is a place, and little enough lies ready. */
static bool has_room(const struct gmt_feed *feed)
{
	/* The last one taken is in use until the next is. */
	return feed->made - feed->taken < PLACES - 1 && (feed->made == feed->taken || feed->ready_bytes < MOST_BYTES);
}

static void *work(void *argument)
{
	struct gmt_feed *feed = argument;
	enum gmt_status status = GMT_OK;

	pthread_mutex_lock(&feed->lock);
	while (!status && !feed->is_closing) {
		struct place *place = &feed->places[feed->made % PLACES];

		if (!has_room(feed)) {
			pthread_cond_wait(&feed->changed, &feed->lock);
			continue;
		}
		pthread_mutex_unlock(&feed->lock);
		if (place->bytes > MOST_BYTES)
			empty(place);
		make(feed, place);
		status = place->status;
		pthread_mutex_lock(&feed->lock);
		feed->made++;
		feed->ready_bytes += place->bytes;
		pthread_cond_broadcast(&feed->changed);
	}
	pthread_mutex_unlock(&feed->lock);
	return NULL;
}

/* Without a thread, where there can be none, it goes on as well. */
static void start(struct gmt_feed *feed)
{
	sigset_t all, before;

	/* Signals are the program's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	feed->has_thread = !pthread_create(&feed->thread, NULL, work, feed);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct gmt_feed *gmt_feed_open(struct gmt_source *source)
{
	struct gmt_feed *feed = gmt_pages_grow(NULL, 0, sizeof(*feed));

	if (!feed)
		return NULL;
	feed->source = source;
	pthread_mutex_init(&feed->lock, NULL);
	pthread_cond_init(&feed->changed, NULL);
	if (gmt_source_progress(source).file_bytes >= THREAD_FROM_BYTES)
		start(feed);
	return feed;
}

/* The next place, once it is filled. */
static struct place *take(struct gmt_feed *feed)
{
	struct place *place = &feed->places[feed->taken % PLACES];

	if (!feed->has_thread) {
		if (place->bytes > MOST_BYTES)
			empty(place);
		make(feed, place);
		return place;
	}
	pthread_mutex_lock(&feed->lock);
	while (feed->made == feed->taken)
		pthread_cond_wait(&feed->changed, &feed->lock);
	feed->taken++;
	feed->ready_bytes -= place->bytes;
	pthread_cond_broadcast(&feed->changed);
	pthread_mutex_unlock(&feed->lock);
	return place;
}

enum gmt_status gmt_feed_next(struct gmt_feed *feed, struct gmt_feed_block *ret_block, struct gmt_error *error)
{
	const struct place *place = take(feed);

	*ret_block = place->block;
	if (place->status && error)
		*error = place->error;
	return place->status;
}

void gmt_feed_close(struct gmt_feed *feed)
{
	if (!feed)
		return;
	if (feed->has_thread) {
		pthread_mutex_lock(&feed->lock);
		feed->is_closing = true;
		pthread_cond_broadcast(&feed->changed);
		pthread_mutex_unlock(&feed->lock);
		pthread_join(feed->thread, NULL);
	}
	for (size_t i = 0; i < PLACES; i++)
		empty(&feed->places[i]);
	pthread_cond_destroy(&feed->changed);
	pthread_mutex_destroy(&feed->lock);
	gmt_pages_free(feed, sizeof(*feed));
}
