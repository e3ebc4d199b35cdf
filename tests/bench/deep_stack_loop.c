/* SPDX-License-Identifier: MIT */
/*
 * Allocates and frees in a hot loop, a given number of native frames deep. deep_stack_loop.py opens
 * it with ctypes. It is compiled twice: it allocates device memory, or with -DHOST_MEMORY memory of
 * the C library. Both builds request the same sizes in the same functions, so that profilers of
 * host memory meet the same stacks.
 *
 * The call chain has many functions with frames of different sizes, as in a real program. The
 * innermost seven are steps. A number selects which four to seven steps run, so stacks differ from
 * call to call or stay the same.
 */
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#ifdef HOST_MEMORY
static int allocate(void **block, size_t size_bytes)
{
	*block = malloc(size_bytes);
	return !*block;
}

static int release(void *block)
{
	free(block);
	return 0;
}
#else
#include <cuda_runtime_api.h>
#define allocate(block, size_bytes) cudaMalloc(block, size_bytes)
#define release(block) cudaFree(block)
#endif

/* The frame counts below require that these functions add no frame. */
#define INLINE __attribute__((always_inline)) inline

enum {
	BLOCK_BYTES = 4096, /* the size that one_page.h looks for */
	STEPS = 7,
	MIN_STEPS = 4,
	FRAMES_MAX = 512,
	REST_US = 20000,
	THREAD_REST_US = 1000,
};

/* One thread's orders and results. Times are nanoseconds for a pair of calls. */
struct work {
	unsigned stacks, count, done, live, levels_left;
	int rests;
	double cpu_ns, wall_ns;
	void **blocks; /* `live` of them wait to be freed */
};

/* Defined by one_page.c. NULL unless one_page.c is preloaded. */
__attribute__((weak)) void one_page_loop(int is_in_loop);

int deep_begin(unsigned threads);
int deep_run(int frames, unsigned stacks, unsigned count, unsigned live, int rounds, int rests,
	double *out);
int deep_first(int threads, double *out);

static pthread_barrier_t start_line;

static double clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The asm statement keeps the optimizer from removing the unused block. */
INLINE static void pair(struct work *work, unsigned number)
{
	void *block, *old;

	if (allocate(&block, BLOCK_BYTES + (work->live ? number % 16 * 512 : 0)))
		abort();
	__asm__ volatile("" : : "r"(block) : "memory");
	old = block;
	if (work->live) {
		old = work->blocks[number % work->live];
		work->blocks[number % work->live] = block;
	}
	if (old && release(old))
		abort();
}

typedef void step(struct work *work, unsigned number, unsigned way, int left);
static step step_0, step_1, step_2, step_3;
static step *const steps[] = { step_0, step_1, step_2, step_3 };

/* The asm statement after the call prevents a tail call, which would leave no frame. */
#define STEP(name, bytes) \
	__attribute__((noinline)) static void name(struct work *work, unsigned number, unsigned way, \
		int left) \
	{ \
		volatile char space[bytes]; \
		space[0] = 0; \
		if (left > 1) \
			steps[way % 4](work, number, way / 4, left - 1); \
		else \
			pair(work, number); \
		__asm__ volatile("" : : "r"(space) : "memory"); \
	}
STEP(step_0, 8)
STEP(step_1, 40)
STEP(step_2, 24)
STEP(step_3, 72)

INLINE static void call_cuda_once(struct work *work, unsigned number)
{
	unsigned which = work->stacks > 1 ? number % work->stacks : 0;
	int count = work->stacks > 1 ? MIN_STEPS + (int)(which % (STEPS - MIN_STEPS + 1)) : STEPS;

	step_0(work, number, which / (STEPS - MIN_STEPS + 1), count);
}

__attribute__((noinline)) static void loop(struct work *work)
{
	if (work->rests) {
		usleep(REST_US);
		pthread_barrier_wait(&start_line);
	}
	if (one_page_loop)
		one_page_loop(!work->live);
	double wall_ns = clock_ns(CLOCK_MONOTONIC), cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	/*
	 * The counter is in memory. Called functions would save a counter register on their stacks, and
	 * then no two stacks would hold the same words.
	 */
	for (work->done = 0; work->done < work->count; work->done++)
		call_cuda_once(work, work->stacks == 1 ? 0 : work->done);
	work->cpu_ns = (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) / work->count;
	work->wall_ns = (clock_ns(CLOCK_MONOTONIC) - wall_ns) / work->count;
	if (one_page_loop)
		one_page_loop(0);
}

typedef void level(struct work *work);
static level level_0, level_1, level_2, level_3, level_4, level_5, level_6, level_7;
static level *const levels[] = { level_0, level_1, level_2, level_3, level_4, level_5, level_6,
	level_7 };

#define LEVEL(name, bytes) \
	__attribute__((noinline)) static void name(struct work *work) \
	{ \
		volatile char space[bytes]; \
		space[0] = 0; \
		if (work->levels_left) \
			levels[--work->levels_left % 8](work); \
		else \
			loop(work); \
		__asm__ volatile("" : : "r"(space) : "memory"); \
	}
LEVEL(level_0, 16)
LEVEL(level_1, 120)
LEVEL(level_2, 32)
LEVEL(level_3, 200)
LEVEL(level_4, 8)
LEVEL(level_5, 64)
LEVEL(level_6, 48)
LEVEL(level_7, 256)

/* Descends until the stack has `frames` frames, the loop and the steps included. */
INLINE static void descend(struct work *work, int frames, int frames_above)
{
	int missing = frames - frames_above - 2 - STEPS;

	work->levels_left = missing > 0 ? (unsigned)missing : 0;
	level_0(work);
}

__attribute__((noinline)) static int frames_here(void)
{
	void *addresses[FRAMES_MAX];

	return backtrace(addresses, FRAMES_MAX);
}

/* Sets how many threads run deep_run at the same time. Their rounds begin together. */
int deep_begin(unsigned threads)
{
	return pthread_barrier_init(&start_line, NULL, threads);
}

/*
 * Runs `rounds` rounds of `count` pairs of calls, `frames` native frames deep, from `stacks`
 * different stacks. 1: the same stack each time, word for word. 0: the same frames, but they save a
 * register that counts. Keeps `live` blocks; 0: frees each block at once. With `rests`, each round
 * begins after a rest, together in all threads. Writes to `out`, for each round, the processor and
 * wall nanoseconds of a pair. Returns the number of native frames, or -1 when out of memory.
 */
int deep_run(int frames, unsigned stacks, unsigned count, unsigned live, int rounds, int rests,
	double *out)
{
	struct work work = { .stacks = stacks, .count = count, .live = live, .rests = rests };
	int above = frames_here() - 1; /* frames_here counts itself too */

	work.blocks = calloc(live + 1, sizeof(*work.blocks));
	if (!work.blocks)
		return -1;
	for (int i = 0; i < rounds; i++) {
		descend(&work, frames, above);
		out[2 * i] = work.cpu_ns;
		out[2 * i + 1] = work.wall_ns;
	}
	free(work.blocks);
	return frames > above + 2 + STEPS ? frames : above + 2 + STEPS;
}

static void *first_pair(void *own_work)
{
	struct work *work = own_work;

	descend(work, FRAMES_MAX, FRAMES_MAX - 24); /* a stack of about twenty frames */
	return NULL;
}

/*
 * Starts `threads` threads, one after the other. Writes to `out` the wall nanoseconds of each
 * thread's first pair of calls.
 */
int deep_first(int threads, double *out)
{
	for (int i = 0; i < threads; i++) {
		struct work work = { .stacks = 1, .count = 1 };
		pthread_t thread;

		usleep(THREAD_REST_US);
		if (pthread_create(&thread, NULL, first_pair, &work))
			return -1;
		pthread_join(thread, NULL);
		out[i] = work.wall_ns;
	}
	return 0;
}
