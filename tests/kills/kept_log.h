/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_KEPT_LOG_H
#define GMT_TESTS_KEPT_LOG_H

/*
 * What a program that is going to be killed did, in a shared file of its own: written by the
 * program itself and read when it is gone, so that nothing of the recorder's is believed.
 */

#include <stdatomic.h>
#include <stdint.h>

enum { KEPT_THREADS = 8, KEPT_CALLS = 1 << 20, KEPT_HELD = 64 /* blocks of a thread, at most */ };

/*
 * Noted in two parts: what is going to be called, and once it has returned the rest, with which it
 * counts as done.
 */
struct kept_call {
	uint64_t address;    /* of an allocation in the second part */
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
