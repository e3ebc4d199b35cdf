/* SPDX-License-Identifier: MIT */
#ifndef GPUMEMTRACE_H
#define GPUMEMTRACE_H

/*
 * Marks for gpumemtrace, the memory profiler for CUDA: a program says where it is, and reports can tell
 * by that when memory came and went.
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

#ifdef __cplusplus
}
#endif

#undef GPUMEMTRACE_FIND
#undef GPUMEMTRACE_INLINE

#endif
