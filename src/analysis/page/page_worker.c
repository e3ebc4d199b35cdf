/* SPDX-License-Identifier: MIT */
#include "analysis/page/page_worker.h"

#include <pthread.h>
#include <signal.h>

#include "base/pages.h"

enum { ITEMS_BYTES = GMT_PAGE_BATCHES * GMT_PAGE_BATCH * sizeof(struct gmt_page_item) };

/* The worker thread. `lock` protects the fields that follow it. */
struct gmt_page_thread {
	const struct gmt_page_worker *worker;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t submitted, done; /* numbers of batches */
	bool has_failed, is_closing;
};

static struct gmt_page_item *batch_of(const struct gmt_page_worker *worker, uint64_t number)
{
	return worker->items + number % GMT_PAGE_BATCHES * GMT_PAGE_BATCH;
}

static void *run(void *argument)
{
	struct gmt_page_thread *thread = argument;
	const struct gmt_page_worker *worker = thread->worker;

	pthread_mutex_lock(&thread->lock);
	while (!thread->is_closing) {
		const struct gmt_page_item *batch = batch_of(worker, thread->done);
		bool has_failed = thread->has_failed;

		if (thread->done == thread->submitted) {
			pthread_cond_wait(&thread->changed, &thread->lock);
			continue;
		}
		pthread_mutex_unlock(&thread->lock);
		has_failed = has_failed || !worker->work(worker->user, batch, GMT_PAGE_BATCH);
		pthread_mutex_lock(&thread->lock);
		thread->has_failed |= has_failed;
		thread->done++;
		pthread_cond_broadcast(&thread->changed);
	}
	pthread_mutex_unlock(&thread->lock);
	return NULL;
}

/* Starts the thread, if it does not run. Returns whether it runs. */
static bool start(struct gmt_page_worker *worker)
{
	struct gmt_page_thread *thread;
	sigset_t all, before;
	bool is_started;

	if (worker->thread || worker->has_no_thread)
		return worker->thread;
	worker->has_no_thread = true;
	thread = gmt_pages_grow(NULL, 0, sizeof(*thread));
	if (!thread)
		return false;
	thread->worker = worker;
	pthread_mutex_init(&thread->lock, NULL);
	pthread_cond_init(&thread->changed, NULL);
	/* Signals are for the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	is_started = !pthread_create(&thread->thread, NULL, run, thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (is_started)
		worker->thread = thread;
	else
		gmt_pages_free(thread, sizeof(*thread));
	return is_started;
}

/* Waits until at most `max_waiting` batches are not done. Returns false if some work failed. */
static bool wait_for(struct gmt_page_thread *thread, uint64_t max_waiting)
{
	bool has_failed;

	pthread_mutex_lock(&thread->lock);
	while (thread->submitted - thread->done > max_waiting)
		pthread_cond_wait(&thread->changed, &thread->lock);
	has_failed = thread->has_failed;
	pthread_mutex_unlock(&thread->lock);
	return !has_failed;
}

/* Submits the full batch to the thread. Without a thread, works through it. */
static bool end_batch(struct gmt_page_worker *worker)
{
	worker->count = 0;
	if (!start(worker))
		return worker->work(worker->user, batch_of(worker, worker->filled), GMT_PAGE_BATCH);
	worker->filled++;
	pthread_mutex_lock(&worker->thread->lock);
	worker->thread->submitted++;
	pthread_cond_broadcast(&worker->thread->changed);
	pthread_mutex_unlock(&worker->thread->lock);
	/* The next batch is filled while the thread works. */
	return wait_for(worker->thread, GMT_PAGE_BATCHES - 1);
}

struct gmt_page_item *gmt_page_worker_add(struct gmt_page_worker *worker)
{
	if (!worker->items && !(worker->items = gmt_pages_grow(NULL, 0, ITEMS_BYTES)))
		return NULL;
	if (worker->count == GMT_PAGE_BATCH && !end_batch(worker))
		return NULL;
	return &batch_of(worker, worker->filled)[worker->count++];
}

bool gmt_page_worker_finish(struct gmt_page_worker *worker)
{
	size_t count = worker->count;

	worker->count = 0;
	if (worker->thread && !wait_for(worker->thread, 0))
		return false;
	return !count || worker->work(worker->user, batch_of(worker, worker->filled), count);
}

void gmt_page_worker_fini(struct gmt_page_worker *worker)
{
	struct gmt_page_thread *thread = worker->thread;

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
	gmt_pages_free(worker->items, ITEMS_BYTES);
	*worker = (struct gmt_page_worker){ 0 };
}
