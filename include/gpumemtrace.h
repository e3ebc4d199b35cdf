/* SPDX-License-Identifier: MIT */
#ifndef GPUMEMTRACE_H
#define GPUMEMTRACE_H

/*
 * Marks for gpumemtrace, the memory profiler for CUDA: a program says where it is, and reports can tell
 * by that when memory came and went. And heaps: what its own memory pools hand out.
 *
 *	for (...) {
 *		gpumemtrace_phase_push("forward");
 *		...
 *		gpumemtrace_phase_pop();
 *		gpumemtrace_step();
 *	}
 *
 * This header is all there is: nothing to link, and without the recorder (LD_PRELOAD=libgpumemtrace.so)
 * each call is a load and a comparison. For C99 and C++, GCC and Clang, Linux; elsewhere the calls do
 * nothing. In programs and shared libraries alike.
 *
 * Any thread may call any of these, at any time. Phases belong to the thread: they nest, and end in the
 * thread in which they began. Names are copied (to 255 bytes of UTF-8); NULL is no name.
 */

#include <stddef.h>

#if defined(__linux__) && (defined(__GNUC__) || defined(__clang__))

/*
 * The address of a function of the recorder, or NULL. A weak reference in C does not do: in a program
 * that is not position-independent, linkers settle it for ever as NULL. One that goes through the table
 * of global addresses is left to the loader.
 */
#if defined(__x86_64__) && !defined(__ILP32__)
#define GPUMEMTRACE_FIND(function, name) \
	__asm__(".weak " name "\n\tmovq " name "@GOTPCREL(%%rip), %0" : "=r"(function))
#elif defined(__aarch64__) && !defined(__ILP32__)
#define GPUMEMTRACE_FIND(function, name) \
	__asm__(".weak " name "\n\tadrp %0, :got:" name "\n\tldr %0, [%0, :got_lo12:" name "]" : "=r"(function))
#endif

#endif

#ifndef GPUMEMTRACE_FIND
#define GPUMEMTRACE_FIND(function, name) ((function) = 0)
#endif

/* The functions below bear other names in the object file, so that the recorder's are not theirs. */
#if defined(__GNUC__) || defined(__clang__)
#define GPUMEMTRACE_INLINE(result, name, parameters) \
	static __inline__ result name parameters __asm__("gpumemtrace_h_" #name) __attribute__((unused)); \
	static __inline__ result name parameters
#else
#define GPUMEMTRACE_INLINE(result, name, parameters) static inline result name parameters
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A step ended: an iteration of training, a request served. Reports compare one step with the next. */
GPUMEMTRACE_INLINE(void, gpumemtrace_step, (void))
{
	void (*function)(void);

	GPUMEMTRACE_FIND(function, "gpumemtrace_step");
	if (function)
		function();
}

/* A phase begins in this thread, inside those that are open. */
GPUMEMTRACE_INLINE(void, gpumemtrace_phase_push, (const char *name))
{
	void (*function)(const char *);

	GPUMEMTRACE_FIND(function, "gpumemtrace_phase_push");
	if (function)
		function(name);
}

/* The innermost open phase of this thread ends. */
GPUMEMTRACE_INLINE(void, gpumemtrace_phase_pop, (void))
{
	void (*function)(void);

	GPUMEMTRACE_FIND(function, "gpumemtrace_phase_pop");
	if (function)
		function();
}

/* A moment with a name. */
GPUMEMTRACE_INLINE(void, gpumemtrace_mark, (const char *name))
{
	void (*function)(const char *);

	GPUMEMTRACE_FIND(function, "gpumemtrace_mark");
	if (function)
		function(name);
}

/* 1 when the recorder is here and records what this process does with CUDA, from the first allocation on. */
GPUMEMTRACE_INLINE(int, gpumemtrace_is_recording, (void))
{
	int (*function)(void);

	GPUMEMTRACE_FIND(function, "gpumemtrace_is_recording");
	return function ? function() : 0;
}

/*
 * Writes what was recorded so far to a file beside the recording (name.snapshot-1.gmt.gz and so on), a whole
 * recording of its own, which says `name` (NULL: nothing). Returns at once; the recorder's thread does the work.
 */
GPUMEMTRACE_INLINE(void, gpumemtrace_snapshot, (const char *name))
{
	void (*function)(const char *);

	GPUMEMTRACE_FIND(function, "gpumemtrace_snapshot");
	if (function)
		function(name);
}

/*
 * From now on blocks are recorded without stacks, which is what costs; what lives, and how much, stays exact.
 * Holds for all threads, until gpumemtrace_resume.
 */
GPUMEMTRACE_INLINE(void, gpumemtrace_pause, (void))
{
	void (*function)(void);

	GPUMEMTRACE_FIND(function, "gpumemtrace_pause");
	if (function)
		function();
}

/* From now on they have stacks again. */
GPUMEMTRACE_INLINE(void, gpumemtrace_resume, (void))
{
	void (*function)(void);

	GPUMEMTRACE_FIND(function, "gpumemtrace_resume");
	if (function)
		function();
}

/*
 * Heaps: pools of the program's own, which take memory from CUDA (or from malloc, or from another heap) and
 * hand it out in blocks. The recorder sees the first; this tells it the second:
 *
 *	pool->heap = gpumemtrace_heap("activations", pool->memory, pool->size_bytes);
 *	...
 *	gpumemtrace_suballoc(pool->heap, block, size_bytes, stream);     when the pool has found a block
 *	...
 *	gpumemtrace_subfree(pool->heap, block);                          before the pool takes it back
 *
 * Each block then has the stack of its gpumemtrace_suballoc, and reports show the heap with what it holds,
 * beside the memory that CUDA handed out, never added to it. A block's end is to be told before another
 * thread can get the same memory, its beginning after the pool took it: that is all the order there is to
 * keep. What happens before the process's first CUDA allocation is not recorded.
 */

/*
 * A heap begins. `address` and `size_bytes` say what memory it has; NULL and 0 where it has none yet, has
 * several pieces, or grows. Whose memory it is, a GPU's or the host's, is found from `address`, or else
 * from its first block. Heaps of one name on one device are one row of a report, so that arenas that come
 * and go are together. Returns a number for the calls below: 0 without the recorder, or when more than
 * 1,024 heaps are there at one time; 0 is ignored by all of them.
 */
GPUMEMTRACE_INLINE(unsigned, gpumemtrace_heap, (const char *name, const void *address, size_t size_bytes))
{
	unsigned (*function)(const char *, const void *, size_t);

	GPUMEMTRACE_FIND(function, "gpumemtrace_heap");
	return function ? function(name, address, size_bytes) : 0;
}

/* The heap has so much memory now. 0: it does not say. */
GPUMEMTRACE_INLINE(void, gpumemtrace_heap_resize, (unsigned heap, size_t size_bytes))
{
	void (*function)(unsigned, size_t);

	GPUMEMTRACE_FIND(function, "gpumemtrace_heap_resize");
	if (function)
		function(heap, size_bytes);
}

/* All blocks of the heap end at once; the heap goes on. */
GPUMEMTRACE_INLINE(void, gpumemtrace_heap_reset, (unsigned heap))
{
	void (*function)(unsigned);

	GPUMEMTRACE_FIND(function, "gpumemtrace_heap_reset");
	if (function)
		function(heap);
}

/* Likewise, and the heap ends too. Its number is not used any more. */
GPUMEMTRACE_INLINE(void, gpumemtrace_heap_end, (unsigned heap))
{
	void (*function)(unsigned);

	GPUMEMTRACE_FIND(function, "gpumemtrace_heap_end");
	if (function)
		function(heap);
}

/*
 * The heap has handed out a block, for work on `stream` (NULL: the default one, or none). An address that
 * the heap has handed out already and did not take back has been taken back: its subfree was missed. NULL is
 * ignored.
 */
GPUMEMTRACE_INLINE(void, gpumemtrace_suballoc,
	(unsigned heap, const void *address, size_t size_bytes, const void *stream))
{
	void (*function)(unsigned, const void *, size_t, const void *);

	GPUMEMTRACE_FIND(function, "gpumemtrace_suballoc");
	if (function)
		function(heap, address, size_bytes, stream);
}

/* The heap is about to take this block back. NULL is ignored. */
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
