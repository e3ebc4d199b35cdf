/* SPDX-License-Identifier: MIT */
#ifndef GPUMEMTRACE_H
#define GPUMEMTRACE_H

/*
 * Marks for gpumemtrace, the CUDA memory profiler. A program marks its steps and phases, so that
 * reports can attribute memory to them. A program can also report the blocks that its own memory
 * pools (heaps) hand out.
 *
 *	for (...) {
 *		gpumemtrace_phase_push("forward");
 *		...
 *		gpumemtrace_phase_pop();
 *		gpumemtrace_step();
 *	}
 *
 * The program needs only this header and links to nothing. Without the recorder
 * (LD_PRELOAD=libgpumemtrace.so), each call costs a load and a comparison. The header works in C99
 * and C++, with GCC and Clang on Linux, in programs and in shared libraries. Elsewhere the calls do
 * nothing.
 *
 * Any thread may call any function at any time. Each thread has its own phases. Phases nest, and
 * the thread that begins a phase must end it. Names are copied, up to 255 bytes of UTF-8. NULL
 * means "no name".
 */

#include <stddef.h>

#if defined(__linux__) && (defined(__GNUC__) || defined(__clang__))

/*
 * Stores the address of a recorder function in `function`, or NULL if the recorder is absent. A
 * weak reference in C is not sufficient: in a program that is not position-independent, the linker
 * fixes it to NULL. The loader resolves a reference through the global offset table (GOT) at run
 * time.
 */
#if defined(__x86_64__) && !defined(__ILP32__)
#define GPUMEMTRACE_FIND(function, name) \
	__asm__(".weak " name "\n\tmovq " name "@GOTPCREL(%%rip), %0" : "=r"(function))
#elif defined(__aarch64__) && !defined(__ILP32__)
#define GPUMEMTRACE_FIND(function, name) \
	__asm__(".weak " name "\n\tadrp %0, :got:" name "\n\tldr %0, [%0, :got_lo12:" name "]" \
		: "=r"(function))
#endif

#endif

#ifndef GPUMEMTRACE_FIND
#define GPUMEMTRACE_FIND(function, name) ((function) = 0)
#endif

/*
 * The functions below have other names in the object file, so that they do not clash with the
 * recorder's functions.
 */
#if defined(__GNUC__) || defined(__clang__)
#define GPUMEMTRACE_INLINE(result, name, parameters) \
	static __inline__ result name parameters __asm__("gpumemtrace_h_" #name) \
		__attribute__((unused)); \
	static __inline__ result name parameters
#else
#define GPUMEMTRACE_INLINE(result, name, parameters) static inline result name parameters
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Marks the end of a step, for example a training iteration or a served request. Reports compare
 * each step with the next one.
 */
GPUMEMTRACE_INLINE(void, gpumemtrace_step, (void))
{
	void (*function)(void);

	GPUMEMTRACE_FIND(function, "gpumemtrace_step");
	if (function)
		function();
}

/* Begins a phase in the calling thread, inside the phases that are already open. */
GPUMEMTRACE_INLINE(void, gpumemtrace_phase_push, (const char *name))
{
	void (*function)(const char *);

	GPUMEMTRACE_FIND(function, "gpumemtrace_phase_push");
	if (function)
		function(name);
}

/* Ends the innermost open phase of the calling thread. */
GPUMEMTRACE_INLINE(void, gpumemtrace_phase_pop, (void))
{
	void (*function)(void);

	GPUMEMTRACE_FIND(function, "gpumemtrace_phase_pop");
	if (function)
		function();
}

/* Marks a moment with a name. */
GPUMEMTRACE_INLINE(void, gpumemtrace_mark, (const char *name))
{
	void (*function)(const char *);

	GPUMEMTRACE_FIND(function, "gpumemtrace_mark");
	if (function)
		function(name);
}

/*
 * Returns 1 if the recorder is present and records this process's CUDA calls. Recording starts at
 * the first allocation.
 */
GPUMEMTRACE_INLINE(int, gpumemtrace_is_recording, (void))
{
	int (*function)(void);

	GPUMEMTRACE_FIND(function, "gpumemtrace_is_recording");
	return function ? function() : 0;
}

/*
 * Writes everything recorded so far to a file next to the recording (name.snapshot-1.gmt.gz and so
 * on). The file is a complete recording that contains `name` (NULL: no name). Returns at once; the
 * recorder's thread writes the file.
 */
GPUMEMTRACE_INLINE(void, gpumemtrace_snapshot, (const char *name))
{
	void (*function)(const char *);

	GPUMEMTRACE_FIND(function, "gpumemtrace_snapshot");
	if (function)
		function(name);
}

/*
 * Stops recording stacks, which cause most of the cost. Live blocks and totals stay exact. Applies
 * to all threads until gpumemtrace_resume.
 */
GPUMEMTRACE_INLINE(void, gpumemtrace_pause, (void))
{
	void (*function)(void);

	GPUMEMTRACE_FIND(function, "gpumemtrace_pause");
	if (function)
		function();
}

/* Records stacks again. */
GPUMEMTRACE_INLINE(void, gpumemtrace_resume, (void))
{
	void (*function)(void);

	GPUMEMTRACE_FIND(function, "gpumemtrace_resume");
	if (function)
		function();
}

/*
 * Heaps are the program's own memory pools. A heap takes memory from CUDA, from malloc or from
 * another heap, and hands it out in blocks. The recorder sees the CUDA memory by itself. These
 * functions report the blocks:
 *
 *	pool->heap = gpumemtrace_heap("activations", pool->memory, pool->size_bytes);
 *	...
 *	gpumemtrace_suballoc(pool->heap, block, size_bytes, stream);   after the pool has found a block
 *	...
 *	gpumemtrace_subfree(pool->heap, block);                        before the pool takes it back
 *
 * Each block gets the stack of its gpumemtrace_suballoc call. Reports show the heap and its blocks
 * next to the memory that CUDA handed out, and never add the two. Only this order is required: call
 * gpumemtrace_suballoc after the pool has taken the block. Call gpumemtrace_subfree before another
 * thread can get the same memory. Blocks from before the process's first CUDA allocation are
 * not recorded.
 */

/*
 * Registers a heap. `address` and `size_bytes` describe its memory. Pass NULL and 0 if the heap has
 * no memory yet, has several pieces, or grows. The recorder finds the device (a GPU or the host)
 * from `address`, or otherwise from the first block. Heaps with the same name on one device share a
 * row of a report, so that short-lived arenas are grouped. Returns a number for the calls below.
 * Returns 0 without the recorder, or if 1,024 heaps already exist. All calls ignore heap 0.
 */
GPUMEMTRACE_INLINE(unsigned, gpumemtrace_heap,
	(const char *name, const void *address, size_t size_bytes))
{
	unsigned (*function)(const char *, const void *, size_t);

	GPUMEMTRACE_FIND(function, "gpumemtrace_heap");
	return function ? function(name, address, size_bytes) : 0;
}

/* Sets the heap's current memory size. 0: unknown. */
GPUMEMTRACE_INLINE(void, gpumemtrace_heap_resize, (unsigned heap, size_t size_bytes))
{
	void (*function)(unsigned, size_t);

	GPUMEMTRACE_FIND(function, "gpumemtrace_heap_resize");
	if (function)
		function(heap, size_bytes);
}

/* Ends all blocks of the heap at once. The heap continues to exist. */
GPUMEMTRACE_INLINE(void, gpumemtrace_heap_reset, (unsigned heap))
{
	void (*function)(unsigned);

	GPUMEMTRACE_FIND(function, "gpumemtrace_heap_reset");
	if (function)
		function(heap);
}

/* Ends all blocks of the heap, and the heap itself. The number is not used again. */
GPUMEMTRACE_INLINE(void, gpumemtrace_heap_end, (unsigned heap))
{
	void (*function)(unsigned);

	GPUMEMTRACE_FIND(function, "gpumemtrace_heap_end");
	if (function)
		function(heap);
}

/*
 * Records that the heap has handed out a block for work on `stream`. NULL means the default stream
 * or no stream. If the heap still has a live block at `address`, the recorder ends that block
 * first: its subfree was missed. A NULL `address` is ignored.
 */
GPUMEMTRACE_INLINE(void, gpumemtrace_suballoc,
	(unsigned heap, const void *address, size_t size_bytes, const void *stream))
{
	void (*function)(unsigned, const void *, size_t, const void *);

	GPUMEMTRACE_FIND(function, "gpumemtrace_suballoc");
	if (function)
		function(heap, address, size_bytes, stream);
}

/* Records that the heap is about to take this block back. A NULL `address` is ignored. */
GPUMEMTRACE_INLINE(void, gpumemtrace_subfree, (unsigned heap, const void *address))
{
	void (*function)(unsigned, const void *);

	GPUMEMTRACE_FIND(function, "gpumemtrace_subfree");
	if (function)
		function(heap, address);
}

#ifdef __cplusplus
}
#endif

#undef GPUMEMTRACE_FIND
#undef GPUMEMTRACE_INLINE

#endif
