/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_STEPPER_H
#define GMT_TESTS_STEPPER_H

/*
 * One case of the stepper: an operation, an action at each of its instructions, and the results.
 */

#include <stdbool.h>
#include <stdint.h>

#include "judge.h"
#include "path.h"
#include "step_log.h"
#include "tracee.h"

enum { STEPPER_PATH_BYTES = 512, STEPPER_TEXT_BYTES = 1024 };

/* The lengths of the log's lists at one moment. */
struct stepper_mark {
	uint32_t calls, processes, canary_changed;
};

struct stepper {
	/* The case. */
	const char *target, *folder;
	char *environment[5];
	enum step_operation operation;
	enum step_action action;
	enum step_stack stack;
	bool is_native;     /* allocations have native stacks */
	bool each_step;     /* acts at each step, also when the call comes to an instruction again */
	bool is_rare; /* only what few rounds go through: the timed call, what the writer has asked for
				   */
	bool is_lazy; /* writer=lazy: the recorder makes no thread, and its memory is in no file */
	unsigned every; /* visits only every n-th position */

	struct step_log *step_log;
	struct tracee tracee;
	struct positions positions;
	struct stepper_mark begin; /* when the process was started */

	/* Results. */
	uint64_t visited, instructions_visited, not_reached, children, processes, wrong;
	uint64_t path_steps; /* of the longest path */
	uint64_t once; /* positions that are left out, because too few recorded paths have them */
};

/* Returns a mark of the log's current end. */
struct stepper_mark stepper_mark(const struct stepper *stepper);

/*
 * Starts the program. Its log is empty, or continues the current one. If the program does not reach
 * its first gate, reports this and returns false.
 */
bool stepper_start(struct stepper *stepper);

/* Runs to the next gate of this kind, past other gates. */
struct tracee_stop stepper_run_to(struct stepper *stepper, enum step_gate gate, int number);

/*
 * Records the paths of `rounds` rounds. The program is at a gate before the call, and afterwards
 * again.
 */
bool stepper_record(struct stepper *stepper, unsigned rounds);

/* Prints one line about `position`, or about the whole case (NULL). */
__attribute__((format(printf, 3, 4))) void stepper_report(struct stepper *stepper,
	const struct position *position, const char *format, ...);

/* Reports a process that stopped unexpectedly. */
void stepper_report_stop(struct stepper *stepper, const struct position *position,
	const struct tracee_stop *stop);

/* The first function returns the file of a process. The second removes it and the memory. */
void stepper_name_recording(const struct stepper *stepper, pid_t pid,
	char ret_path[STEPPER_PATH_BYTES]);
void stepper_forget_recording(const struct stepper *stepper, pid_t pid);

/* Judges the children that were made since `since`, and removes their files. */
void stepper_judge_children(struct stepper *stepper, const struct position *position,
	const struct stepper_mark *since);

enum stepper_end { STEPPER_IN_ORDER, STEPPER_CHILD /* in order */, STEPPER_KILLED };

/* Judges the whole recording of process `pid`, which is over, and removes it. */
void stepper_judge_process(struct stepper *stepper, const struct position *position, pid_t pid,
	const struct stepper_mark *since, const struct judge_allowance *allowance,
	enum stepper_end end);

/* Does all actions one after the other in one process, which survives them. */
bool stepper_go_in_rounds(struct stepper *stepper);

/* Does each action in its own process. */
bool stepper_go_in_processes(struct stepper *stepper);

#endif
