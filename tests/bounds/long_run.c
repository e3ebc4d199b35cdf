/* SPDX-License-Identifier: MIT */
/*
 * usage: long-run EVENTS THREADS RATE SEED
 *
 * Allocates and frees on the simulated device from 256 sites, EVENTS calls in total, at most RATE
 * a second. Keeps its own accounting. Live memory grows and shrinks in waves; the peak is somewhere
 * in between. From time to time the program compares its accounting with the driver's. Every
 * thousandth call ends a step.
 *
 * SIGTERM ends it early. Prints JSON: live memory, the peak, and for each site its allocations,
 * frees, live blocks, and blocks at the peak. Also prints the most memory that the process took,
 * without the memory that it had before the recorder began. One lock covers each call and its
 * accounting, so that both have the same order.
 */
#include <cuda.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../simcuda/driver/accounting.h"
#include "gpumemtrace.h"

enum {
	SITE_BITS = 8,
	SITES = 1 << SITE_BITS,
	SLOTS = 4096,
	THREADS_MAX = 16,
	STEP_CALLS = 1000,
	CHECK_CALLS = 200000,
	WAVE_CALLS = 300000, /* from minimum to minimum */
	PACE_CALLS = 256,
};

struct site {
	unsigned long long allocs, frees, total_bytes, live_bytes, live_blocks, peak_bytes, peak_blocks;
};

/*
 * An adaptive mutex spins for a while before it sleeps. Otherwise two threads would put each other
 * to sleep at each call.
 */
static pthread_mutex_t lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static struct site sites[SITES];
static struct slot {
	CUdeviceptr address;
	size_t size_bytes;
	unsigned site;
} slots[SLOTS];
static unsigned slot_count;
static unsigned long long limit, calls, rate, live_bytes, peak_bytes, peak_blocks, most_kib;
static uint64_t random_state, begin_ns;
static CUcontext context;
static volatile sig_atomic_t is_ended;

static void end(int number)
{
	(void)number;
	is_ended = 1;
}

static uint64_t draw(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

static void must(CUresult result, const char *what)
{
	if (result) {
		fprintf(stderr, "long-run: %s: error %d after %llu calls\n", what, (int)result, calls);
		exit(1);
	}
}

/* Gives each number its own stack: each bit selects one of two functions. */
static CUresult through_0(unsigned bits, unsigned left, CUdeviceptr *address, size_t size_bytes);
static CUresult through_1(unsigned bits, unsigned left, CUdeviceptr *address, size_t size_bytes);

static CUresult go(unsigned bits, unsigned left, CUdeviceptr *address, size_t size_bytes)
{
	if (!left)
		return cuMemAlloc(address, size_bytes);
	return bits & 1 ? through_1(bits >> 1, left - 1, address, size_bytes)
					: through_0(bits >> 1, left - 1, address, size_bytes);
}

static CUresult through_0(unsigned bits, unsigned left, CUdeviceptr *address, size_t size_bytes)
{
	return go(bits, left, address, size_bytes);
}

static CUresult through_1(unsigned bits, unsigned left, CUdeviceptr *address, size_t size_bytes)
{
	return go(bits, left, address, size_bytes);
}

/*
 * Returns the process's own memory in KiB: anonymous memory, and files in /dev/shm, where the
 * recorder's memory is.
 */
static unsigned long long taken_kib(void)
{
	char line[256];
	unsigned long long sum = 0, kib;
	FILE *status = fopen("/proc/self/status", "re");

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "RssAnon: %llu", &kib) == 1 || sscanf(line, "RssShmem: %llu", &kib) == 1 ||
			sscanf(line, "RssFile: %llu", &kib) == 1)
			sum += kib;
	if (status)
		fclose(status);
	return sum;
}

static void check_driver(void)
{
	static struct simcuda_item items[SLOTS + 64];
	unsigned long long bytes = 0, blocks = 0, kib = taken_kib();
	size_t count = simcuda_list(items, sizeof(items) / sizeof(*items));

	for (size_t i = 0; i < count; i++)
		if (items[i].kind == SIMCUDA_KIND_DEVICE) {
			bytes += items[i].size_bytes;
			blocks++;
		}
	if (bytes != live_bytes || blocks != slot_count) {
		fprintf(stderr, "long-run: the driver has %llu bytes in %llu blocks, this has %llu in %u\n",
			bytes, blocks, live_bytes, slot_count);
		exit(1);
	}
	most_kib = kib > most_kib ? kib : most_kib;
}

static void allocate(void)
{
	struct slot *slot = &slots[slot_count++];
	struct site *site;

	slot->site = (unsigned)draw(SITES);
	slot->size_bytes = 1 + draw(65536);
	site = &sites[slot->site];
	must(go(slot->site, SITE_BITS, &slot->address, slot->size_bytes), "cuMemAlloc");
	site->allocs++;
	site->live_blocks++;
	site->total_bytes += slot->size_bytes;
	site->live_bytes += slot->size_bytes;
	live_bytes += slot->size_bytes;
	if (live_bytes > peak_bytes) {
		peak_bytes = live_bytes;
		peak_blocks = slot_count;
		for (unsigned i = 0; i < SITES; i++) {
			sites[i].peak_bytes = sites[i].live_bytes;
			sites[i].peak_blocks = sites[i].live_blocks;
		}
	}
}

static void release(void)
{
	struct slot *slot = &slots[draw(slot_count)];
	struct site *site = &sites[slot->site];

	must(cuMemFree(slot->address), "cuMemFree");
	site->frees++;
	site->live_blocks--;
	site->live_bytes -= slot->size_bytes;
	live_bytes -= slot->size_bytes;
	*slot = slots[--slot_count];
}

/* Returns how many of 1000 calls allocate: more than half in a wave's first half, then less. */
static unsigned share_of_allocations(void)
{
	return calls % WAVE_CALLS < WAVE_CALLS / 2 ? 503 : 497;
}

static void call_cuda_once(void)
{
	if (!slot_count || (slot_count < SLOTS && draw(1000) < share_of_allocations()))
		allocate();
	else
		release();
	if (++calls % STEP_CALLS == 0)
		gpumemtrace_step();
	if (calls % CHECK_CALLS == 0)
		check_driver();
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Sleeps until the next call is due. */
static void keep_pace(void)
{
	uint64_t due_ns = begin_ns + (uint64_t)((double)calls / (double)rate * 1e9), time_ns = now_ns();

	if (rate && due_ns > time_ns)
		usleep((useconds_t)((due_ns - time_ns) / 1000));
}

static void *work(void *unused)
{
	(void)unused;
	must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	for (bool goes_on = true; goes_on;) {
		pthread_mutex_lock(&lock);
		for (unsigned i = 0; i < PACE_CALLS && calls < limit; i++)
			call_cuda_once();
		goes_on = calls < limit && !is_ended;
		pthread_mutex_unlock(&lock);
		keep_pace();
	}
	return NULL;
}

static void print_accounting(unsigned long long before_kib)
{
	printf("{\"calls\": %llu, \"live_bytes\": %llu, \"live_blocks\": %u, \"peak_bytes\": %llu, "
		   "\"peak_blocks\": %llu, \"memory_kib\": %llu, \"seconds\": %.1f, \"sites\": [",
		calls, live_bytes, slot_count, peak_bytes, peak_blocks,
		most_kib > before_kib ? most_kib - before_kib : 0, (double)(now_ns() - begin_ns) / 1e9);
	for (unsigned i = 0, printed = 0; i < SITES; i++)
		if (sites[i].allocs)
			printf("%s[%llu, %llu, %llu, %llu, %llu, %llu, %llu]", printed++ ? ", " : "",
				sites[i].allocs, sites[i].frees, sites[i].total_bytes, sites[i].live_bytes,
				sites[i].live_blocks, sites[i].peak_bytes, sites[i].peak_blocks);
	puts("]}");
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	unsigned long long before_kib = taken_kib();
	unsigned thread_count;
	CUdevice device;

	if (argc != 5 || (thread_count = (unsigned)atoi(argv[2])) < 1 || thread_count > THREADS_MAX) {
		fputs("usage: long-run EVENTS THREADS RATE SEED\n", stderr);
		return 2;
	}
	limit = strtoull(argv[1], NULL, 10);
	rate = strtoull(argv[3], NULL, 10);
	random_state = strtoull(argv[4], NULL, 10) * 0x9e3779b97f4a7c15 + 1;
	must(cuInit(0), "cuInit");
	must(cuDeviceGet(&device, 0), "cuDeviceGet");
	must(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	signal(SIGTERM, end);
	begin_ns = now_ns();
	for (unsigned i = 0; i < thread_count; i++)
		if (pthread_create(&threads[i], NULL, work, NULL))
			return 1;
	for (unsigned i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	check_driver();
	print_accounting(before_kib);
	return 0;
}
