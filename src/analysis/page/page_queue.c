/* SPDX-License-Identifier: MIT */
#include "analysis/page/page_queue.h"

#include <pthread.h>
#include <signal.h>

#include "base/pages.h"

enum { ITEMS_BYTES = GMT_PAGE_BATCHES * GMT_PAGE_BATCH * sizeof(struct gmt_page_item) };

/* The second thread. `lock` protects all that follows it. */
struct gmt_page_thread {
	const struct gmt_page_queue *queue;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t given, done; /* numbers of batches */
	bool has_failed, is_closing;
};

static struct gmt_page_item *batch_of(const struct gmt_page_queue *queue, uint64_t number)
{
	return queue->items + number % GMT_PAGE_BATCHES * GMT_PAGE_BATCH;
}

static void *run(void *argument)
{
	struct gmt_page_thread *thread = argument;
	const struct gmt_page_queue *queue = thread->queue;

	pthread_mutex_lock(&thread->lock);
	while (!thread->is_closing) {
		const struct gmt_page_item *batch = batch_of(queue, thread->done);
		bool has_failed = thread->has_failed;

		if (thread->done == thread->given) {
			pthread_cond_wait(&thread->changed, &thread->lock);
			continue;
		}
		pthread_mutex_unlock(&thread->lock);
		has_failed = has_failed || !queue->work(queue->user, batch, GMT_PAGE_BATCH);
		pthread_mutex_lock(&thread->lock);
		thread->has_failed |= has_failed;
		thread->done++;
		pthread_cond_broadcast(&thread->changed);
	}
	pthread_mutex_unlock(&thread->lock);
	return NULL;
}

/* Starts the thread, if it does not run. Returns whether it runs. */
static bool start(struct gmt_page_queue *queue)
{
	struct gmt_page_thread *thread;
	sigset_t all, before;
	bool is_started;

	if (queue->thread || queue->has_no_thread)
		return queue->thread;
	queue->has_no_thread = true;
	thread = gmt_pages_grow(NULL, 0, sizeof(*thread));
	if (!thread)
		return false;
	thread->queue = queue;
	pthread_mutex_init(&thread->lock, NULL);
	pthread_cond_init(&thread->changed, NULL);
	/* Signals are for the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	is_started = !pthread_create(&thread->thread, NULL, run, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (is_started)
		queue->thread = thread;
	else
		gmt_pages_free(thread, sizeof(*thread));
	return is_started;
}

/* Waits until at most `max_waiting` batches are not done. Returns false if some work failed. */
static bool wait_for(struct gmt_page_thread *thread, uint64_t max_waiting)
{
	bool has_failed;

	pthread_mutex_lock(&thread->lock);
	while (thread->given - thread->done > max_waiting)
		pthread_cond_wait(&thread->changed, &thread->lock);
	has_failed = thread->has_failed;
	pthread_mutex_unlock(&thread->lock);
	return !has_failed;
}

/* Gives the full batch to the thread, or works through it. */
static bool end_batch(struct gmt_page_queue *queue)
{
	queue->count = 0;
	if (!start(queue))
		return queue->work(queue->user, batch_of(queue, queue->filled), GMT_PAGE_BATCH);
	queue->filled++;
	pthread_mutex_lock(&queue->thread->lock);
	queue->thread->given++;
	pthread_cond_broadcast(&queue->thread->changed);
	pthread_mutex_unlock(&queue->thread->lock);
	/* The next batch is filled while the thread works. */
	return wait_for(queue->thread, GMT_PAGE_BATCHES - 1);
}

struct gmt_page_item *gmt_page_queue_add(struct gmt_page_queue *queue)
{
	if (!queue->items && !(queue->items = gmt_pages_grow(NULL, 0, ITEMS_BYTES)))
		return NULL;
	if (queue->count == GMT_PAGE_BATCH && !end_batch(queue))
		return NULL;
	return &batch_of(queue, queue->filled)[queue->count++];
}

bool gmt_page_queue_finish(struct gmt_page_queue *queue)
{
	size_t count = queue->count;

	queue->count = 0;
	if (queue->thread && !wait_for(queue->thread, 0))
		return false;
	return !count || queue->work(queue->user, batch_of(queue, queue->filled), count);
}

void gmt_page_queue_fini(struct gmt_page_queue *queue)
{
	struct gmt_page_thread *thread = queue->thread;

	if (thread) {
		pthread_mutex_lock(&thread->lock);
		thread->is_closing = true;
		pthread_cond_broadcast(&thread->changed);
		pthread_mutex_unlock(&thread->lock);
		pthread_join(thread->thread, NULL);
		pthread_cond_destroy(&thread->changed);
		pthread_mutex_destroy(&thread->lock);
		gmt_pages_free(thread, sizeof(*thread));
	}
	gmt_pages_free(queue->items, ITEMS_BYTES);
	*queue = (struct gmt_page_queue){ 0 };
}
