/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_TRACEE_H
#define GMT_TESTS_TRACEE_H

/*
 * The stepped process. ptrace traces one thread; other threads and children run freely. x86-64
 * only.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "step_log.h"

struct range {
	uint64_t start, end;
};

enum { TRACEE_THROUGH = 8 };

struct tracee {
	pid_t pid; /* 0: there is none */
	struct step_log *step_log;
	struct range shim;                    /* code of the recorder; empty until tracee_find_code */
	uint64_t shim_base;                   /* where its file is mapped */
	struct range through[TRACEE_THROUGH]; /* other code that is stepped through and not counted: the
											 program's own */
	unsigned through_count;
	unsigned patience_s;
};

enum tracee_event {
	TRACEE_STEPPED, /* one instruction, or what was to be done in place of one, is over */
	TRACEE_BREAK, /* at the breakpoint */
	TRACEE_GATE, /* the program has stopped by itself: step_log->gate says where */
	TRACEE_ENDED, /* `status` says how */
	TRACEE_HUNG, /* nothing happened for `patience_s`; the process is still there */
	TRACEE_FAILED, /* ptrace itself does not work */
};

struct tracee_stop {
	enum tracee_event event;
	int status;
	int signal; /* the last signal that the program got by itself, of those that end a process; 0:
				   none */
	uint64_t ip;
};

/* Returns whether the system allows tracing, and has debug registers. */
bool tracee_is_possible(void);

/* Starts `program` with our own environment and `environment`. Runs it to its first gate. */
struct tracee_stop tracee_start(struct tracee *tracee, const char *program,
	char *const environment[]);

/* Finds the addresses of the code. Returns false if the recorder is not in the process. */
bool tracee_find_code(struct tracee *tracee);

/*
 * Runs until a gate, the breakpoint or the end. `number` (0: none) is a signal that the program
 * gets first.
 */
struct tracee_stop tracee_run(struct tracee *tracee, int number);

/*
 * Executes one instruction of the recorder's or the program's own code. Other code runs until it
 * returns. Removes the breakpoint.
 */
struct tracee_stop tracee_step(struct tracee *tracee);

/* Sets the only breakpoint; 0 removes it. Children do not have it. */
bool tracee_set_breakpoint(struct tracee *tracee, uint64_t address);

bool tracee_is_in_shim(const struct tracee *tracee, uint64_t address);

/* Kills the process if it is there, and collects it. */
void tracee_kill(struct tracee *tracee);

#endif
