/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_KEPT_LOG_H
#define GMT_TESTS_KEPT_LOG_H

/*
 * The log of a program that will be killed. The program writes its own calls to a shared file. The
 * test reads the file after the kill, so it does not have to trust the recorder.
 */

#include <stdatomic.h>
#include <stdint.h>

enum { KEPT_THREADS = 8, KEPT_CALLS = 1 << 20, KEPT_HELD = 64 /* most live blocks of a thread */ };

/*
 * One call. The program writes it in two steps. Before the call: its arguments and `begin_ns`.
 * After the call: the rest; then it counts the call in `done`.
 */
struct kept_call {
	uint64_t address;    /* an allocation has it only after the call */
	uint64_t size_bytes; /* 0: a free */
	uint64_t begin_ns;   /* CLOCK_MONOTONIC, around the call */
	uint64_t end_ns;
};

struct kept_thread {
	_Atomic uint32_t tid;
	uint32_t reserved;
	_Atomic uint64_t done; /* calls that returned */
	struct kept_call calls[KEPT_CALLS];
};

struct kept_log {
	struct kept_thread threads[KEPT_THREADS];
};

#endif
