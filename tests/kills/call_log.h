/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_CALL_LOG_H
#define GMT_TESTS_CALL_LOG_H

/*
 * The log of a program that will be killed. The program writes its own calls to a shared file. The
 * test reads the file after the kill, so it does not have to trust the recorder.
 */

#include <stdatomic.h>
#include <stdint.h>

enum {
	LOGGED_THREADS = 8,
	MAX_CALLS_PER_THREAD = 1 << 20,
	MAX_LIVE_PER_THREAD = 64 /* most live blocks of a thread */
};

/*
 * One call. The program writes it in two steps. Before the call: its arguments and `begin_ns`.
 * After the call: the rest; then it counts the call in `done`.
 */
struct logged_call {
	uint64_t address;    /* an allocation has it only after the call */
	uint64_t size_bytes; /* 0: a free */
	uint64_t begin_ns;   /* CLOCK_MONOTONIC, around the call */
	uint64_t end_ns;
};

struct logged_thread {
	_Atomic uint32_t tid;
	uint32_t reserved;
	_Atomic uint64_t done; /* calls that returned */
	struct logged_call calls[MAX_CALLS_PER_THREAD];
};

struct call_log {
	struct logged_thread threads[LOGGED_THREADS];
};

#endif
