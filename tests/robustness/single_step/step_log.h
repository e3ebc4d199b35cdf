/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_STEP_LOG_H
#define GMT_TESTS_STEP_LOG_H

/*
 * Memory that the stepper shares with the stepped program and with all its children. The stepper
 * writes the next operation and the action of the handler. The driver appends each call that
 * reaches it, so the log holds the real calls. The recorder writes nothing to this memory.
 */

#include <stdatomic.h>
#include <stdint.h>

#define STEP_LOG_VARIABLE "STEP_LOG" /* path of the file */

enum {
	STEP_CALLS = 1 << 20,
	STEP_PROCESSES = 1 << 16,
	STEP_CANARY = 0xa7, /* value of the bytes below a signal stack, which no code may change */
};

/* Block number N of the log lies at this address. No address is used twice. */
#define STEP_FIRST_ADDRESS UINT64_C(0x100000000)
#define STEP_ADDRESS_SHIFT 16

/* The hooked call that the stepper steps through. */
enum step_operation {
	STEP_ALLOC_SAME,     /* with the same stack as in the last round */
	STEP_ALLOC_RECALLED, /* with one of four stacks, in turn, that the stack cache holds */
	STEP_ALLOC_NEW,      /* with a stack that the process has not used yet */
	STEP_FREE,
	STEP_RUNTIME_ALLOC,  /* cudaMalloc, which calls cuMemAlloc_v2 */
	STEP_RUNTIME_FREE,
	STEP_ALLOC_REFUSED,  /* the driver is out of memory */
	STEP_FIRST,          /* the first event of the process, which begins the recording */
	STEP_OPERATIONS
};

/* The action of the signal handler. */
enum step_action {
	STEP_RETURN,
	STEP_ALLOCATE,   /* allocates and frees */
	STEP_FORK, /* the child returns from the handler, finishes the call, and later calls exit */
	STEP_FORK_TWICE, /* the same, with _exit; the child also forks in the handler */
	STEP_JUMP, /* siglongjmp to a place before the call */
	STEP_EXIT, /* calls exit */
	STEP_EXIT_QUICK, /* calls _exit */
	STEP_KILL, /* no handler runs: the stepper kills the program instead */
	STEP_ACTIONS
};

/* The stack that the handler runs on. */
enum step_stack {
	STEP_STACK_OWN, /* the interrupted one */
	STEP_STACK_APART, /* a signal stack in static memory */
	STEP_STACK_INSIDE, /* a signal stack that is a local array of the interrupted thread */
	STEP_STACKS
};

/* The place where the program has stopped by itself. */
enum step_gate { STEP_BEFORE_CALL = 1, STEP_AFTER_CALL, STEP_SETTLED };

/*
 * The size of a request identifies the caller. The program adds the number of the place in its
 * source, times STEP_PLACE_BYTES.
 */
enum {
	STEP_OF_PROGRAM = 4096,
	STEP_OF_HANDLER = 1024,
	STEP_PLACE_BYTES = 16,
	STEP_PLACES = 16,
	STEP_REFUSED_BYTES = 1 << 30
};

enum step_call_kind { STEP_CALL_NONE, STEP_CALL_ALLOC, STEP_CALL_FREE };

struct step_call {
	_Atomic uint32_t kind; /* written last */
	uint32_t pid;
	uint64_t address;
	uint64_t size_bytes;
};

struct step_process {
	_Atomic uint32_t pid;
	uint32_t parent;
	_Atomic uint32_t is_over; /* the parent has collected `status` */
	int32_t status; /* from waitpid, or STEP_HUNG */
};

enum { STEP_HUNG = -1 };

struct step_log {
	/* The stepper writes these. */
	uint32_t operation, action, stack, must_end;
	uint32_t patience_s;
	/* The program writes these. */
	uint32_t gate;
	uint32_t canary_changed; /* bytes below the signal stack that were overwritten */
	uint32_t rounds;
	_Atomic uint32_t process_count;
	struct step_process processes[STEP_PROCESSES]; /* children */
	/* The driver writes these. */
	_Atomic uint32_t call_count;
	struct step_call calls[STEP_CALLS];
};

#endif
