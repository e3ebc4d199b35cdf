/* SPDX-License-Identifier: MIT */
/*
 * usage: random-calls SEED CALLS THREADS ACCOUNTING
 *
 * Calls CUDA at random on the simulated device. After every thousandth call all threads wait, and
 * the program appends the driver's live items to the file ACCOUNTING (checkpoint.h). It sets a mark
 * with the checkpoint's number.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkpoint.h"
#include "gpumemtrace.h"
#include "random_calls.h"

enum { THREADS_MAX = 16, ACTIONS_MAX = 200, CALLS_BETWEEN = 1000, REST_US = 1500 };

/* The constructors of ACTION fill this before main. */
static struct action {
	unsigned weight;
	void (*run)(struct worker *);
} actions[ACTIONS_MAX];
static size_t action_count;
static unsigned weights;

void add_action(unsigned weight, void (*run)(struct worker *worker))
{
	if (action_count == ACTIONS_MAX)
		abort();
	actions[action_count++] = (struct action){ weight, run };
	weights += weight;
}

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static struct worker workers[THREADS_MAX];
static unsigned thread_count;
static uint64_t seed, rounds;
static FILE *accounting;

void lock_exclusively(struct worker *worker)
{
	if (worker->has_exclusive_lock)
		return;
	pthread_rwlock_unlock(&lock);
	pthread_rwlock_wrlock(&lock);
	worker->has_exclusive_lock = true;
}

static void act(struct worker *worker)
{
	uint64_t number = draw(worker, weights);

	pthread_rwlock_rdlock(&lock);
	for (size_t i = 0; i < action_count; i++) {
		if (number < actions[i].weight) {
			actions[i].run(worker);
			break;
		}
		number -= actions[i].weight;
	}
	pthread_rwlock_unlock(&lock);
	worker->has_exclusive_lock = false;
}

static void write_accounting(const void *bytes, size_t length)
{
	if (fwrite(bytes, 1, length, accounting) != length) {
		perror("random-calls: accounting");
		exit(1);
	}
}

/* Writes a checkpoint. Call while no other thread runs. */
static void write_checkpoint(uint64_t number)
{
	static struct simcuda_item items[1 << 14];
	struct checkpoint checkpoint = { .number = number };
	char name[32];

	checkpoint.count = simcuda_list(items, sizeof(items) / sizeof(*items));
	if (checkpoint.count > sizeof(items) / sizeof(*items)) {
		fprintf(stderr, "random-calls: %zu items are too many\n", (size_t)checkpoint.count);
		exit(1);
	}
	for (unsigned i = 0; i < thread_count; i++)
		checkpoint.calls += workers[i].calls;
	write_accounting(&checkpoint, sizeof(checkpoint));
	write_accounting(items, checkpoint.count * sizeof(*items));
	snprintf(name, sizeof(name), "checkpoint %llu", (unsigned long long)number);
	gpumemtrace_mark(name);
	/* Gives the recorder's writer time: if it drops an event, the run proves nothing. */
	usleep(REST_US);
}

static void *work(void *argument)
{
	struct worker *worker = argument;

	for (uint64_t round = 1; round <= rounds; round++) {
		while (worker->calls < round * CALLS_BETWEEN / thread_count)
			act(worker);
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			write_checkpoint(round);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];

	if (argc != 5 || (thread_count = (unsigned)atoi(argv[3])) < 1 || thread_count > THREADS_MAX) {
		fputs("usage: random-calls SEED CALLS THREADS ACCOUNTING\n", stderr);
		return 2;
	}
	seed = strtoull(argv[1], NULL, 10);
	rounds = strtoull(argv[2], NULL, 10) / CALLS_BETWEEN;
	accounting = fopen(argv[4], "wbe");
	if (!accounting) {
		perror(argv[4]);
		return 1;
	}
	start_other_process();
	if (cuInit(0)) {
		fputs("random-calls: no driver\n", stderr);
		return 1;
	}
	find_primary_contexts();
	pthread_barrier_init(&barrier, NULL, thread_count);
	for (unsigned i = 0; i < thread_count; i++) {
		workers[i].seed = seed * 1000 + i;
		if (pthread_create(&threads[i], NULL, work, &workers[i]))
			return 1;
	}
	for (unsigned i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	return fclose(accounting) ? 1 : 0;
}
