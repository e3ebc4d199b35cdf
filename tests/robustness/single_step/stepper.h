/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_STEPPER_H
#define GMT_TESTS_STEPPER_H

/*
 * One case of the stepper: an operation, an action at each instruction of it, and what came of
 * that.
 */

#include <stdbool.h>
#include <stdint.h>

#include "judge.h"
#include "path.h"
#include "step_log.h"
#include "tracee.h"

enum { STEPPER_PATH_BYTES = 512, STEPPER_TEXT_BYTES = 1024 };

/* Numbers of the log's ends. */
struct stepper_mark {
	uint32_t calls, processes, painted_changed;
};

struct stepper {
	/* The case. */
	const char *target, *folder;
	char *environment[5];
	enum step_operation operation;
	enum step_action action;
	enum step_stack stack;
	bool is_native;     /* allocations have native stacks */
	bool each_step;     /* at each step, also where the call comes to an instruction again */
	bool is_rare; /* only what few rounds go through: the timed call, what the writer has asked for
				   */
	bool is_lazy; /* writer=lazy: the recorder makes no thread, and its memory is in no file */
	unsigned every; /* of the positions only each n-th */

	struct step_log *step_log;
	struct tracee tracee;
	struct positions positions;
	struct stepper_mark begin; /* when the process was started */

	/* What came of it. */
	uint64_t visited, instructions_visited, not_reached, children, processes, wrong;
	uint64_t path_steps; /* of the longest path */
	uint64_t once; /* positions that are left out: too few of the recorded paths have them */
};

/* As the log is now. */
struct stepper_mark stepper_mark(const struct stepper *stepper);

/*
 * Starts the program with an empty log, or one that is appended to. False, and reported, when it
 * does not reach its first gate.
 */
bool stepper_start(struct stepper *stepper);

/* Runs on to the gate, over other ones. */
struct tracee_stop stepper_run_to(struct stepper *stepper, enum step_gate gate, int number);

/*
 * Records the paths of so many rounds, from a gate before the call on. The program stands at such a
 * gate again afterwards.
 */
bool stepper_record(struct stepper *stepper, unsigned rounds);

/* Prints one line about `position` (NULL: about none). */
__attribute__((format(printf, 3, 4))) void stepper_report(struct stepper *stepper,
	const struct position *position, const char *format, ...);

/* Says how a process stopped that should not have. */
void stepper_report_stop(struct stepper *stepper, const struct position *position,
	const struct tracee_stop *stop);

/* The file of a process, and its removal with the recorder's memory. */
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

/* All actions one after the other in one process, which survives them. */
bool stepper_go_in_rounds(struct stepper *stepper);

/* Each action in a process of its own. */
bool stepper_go_in_processes(struct stepper *stepper);

#endif
