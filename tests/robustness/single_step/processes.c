/* SPDX-License-Identifier: MIT */
/*
 * Visits one position in each process: the handler ends the process, the stepper kills it, or its
 * recording just begins.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "stepper.h"

enum { WARM_ROUNDS = 6, RECORDED = 7, FIRST_RECORDED = 2 /* they are long */, TRIES = 5 };

/* Starts the program and runs it to the gate before the stepped call. */
static bool begin(struct stepper *stepper)
{
	struct tracee_stop stop = { .event = TRACEE_GATE };

	if (!stepper_start(stepper))
		return false;
	for (int i = 0;
		i < WARM_ROUNDS && stepper->operation != STEP_FIRST && stop.event == TRACEE_GATE; i++)
		stop = stepper_run_to(stepper, STEP_BEFORE_CALL, 0);
	if (stop.event == TRACEE_GATE)
		return true;
	stepper_report_stop(stepper, NULL, &stop);
	tracee_kill(&stepper->tracee);
	return false;
}

/* Records the path of the call in a process without interruption. */
static bool record(struct stepper *stepper)
{
	bool is_recorded;
	pid_t pid;

	if (!begin(stepper))
		return false;
	pid = stepper->tracee.pid;
	is_recorded = stepper_record(stepper, 1);
	tracee_kill(&stepper->tracee);
	stepper_forget_recording(stepper, pid);
	return is_recorded;
}

/* Returns the differences that are allowed if a process ends in the middle of a call. */
static struct judge_allowance allowance_of(const struct stepper *stepper)
{
	struct judge_allowance allowance = { .peak_bytes = STEP_OF_HANDLER,
		.missing_program_calls = stepper->action >= STEP_JUMP };

	if (stepper->action == STEP_KILL) {
		/* Lazy memory is in no file, so it is lost: the file ends with the last write. */
		allowance.in_flight = stepper->is_lazy ? STEP_CALLS : 1;
		allowance.may_be_incomplete = true;
		if (stepper->is_lazy)
			allowance.missing_program_calls = STEP_CALLS;
	} else if (stepper->action == STEP_JUMP || stepper->action == STEP_EXIT ||
		stepper->action == STEP_EXIT_QUICK) {
		allowance.counted_twice = stepper->operation == STEP_ALLOC_REFUSED ? 3 : 1;
	}
	return allowance;
}

/* Runs the process until it has ended. */
static struct tracee_stop act(struct stepper *stepper)
{
	struct tracee_stop stop;

	stepper->step_log->must_end = 1;
	if (stepper->action == STEP_KILL)
		kill(stepper->tracee.pid, SIGKILL);
	stop = tracee_run(&stepper->tracee, stepper->action == STEP_KILL ? 0 : SIGUSR1);
	while (stop.event == TRACEE_GATE)
		stop = tracee_run(&stepper->tracee, 0);
	return stop;
}

static bool ends_as_it_should(const struct stepper *stepper, const struct tracee_stop *stop)
{
	if (stop->event != TRACEE_ENDED)
		return false;
	if (stepper->action == STEP_KILL)
		return WIFSIGNALED(stop->status) && WTERMSIG(stop->status) == SIGKILL;
	return WIFEXITED(stop->status) && WEXITSTATUS(stop->status) == 0;
}

/*
 * Brings a process to the position. Some calls take another way, because of the clock. Then another
 * process tries.
 */
static bool go_to(struct stepper *stepper, const struct position *position)
{
	for (int i = 0; i < TRIES; i++) {
		struct tracee_stop stop;
		pid_t pid;

		if (!begin(stepper))
			return false;
		pid = stepper->tracee.pid;
		stop = path_go_to(&stepper->tracee, position);
		if (stop.event == TRACEE_BREAK)
			return true;
		tracee_kill(&stepper->tracee);
		stepper_forget_recording(stepper, pid);
	}
	return false;
}

static void visit(struct stepper *stepper, const struct position *position)
{
	struct judge_allowance allowance = allowance_of(stepper);
	struct tracee_stop stop;

	if (!go_to(stepper, position)) {
		stepper->not_reached++;
		stepper_report(stepper, position, "the call did not come there again");
		return;
	}

	pid_t pid = stepper->tracee.pid;

	stepper->visited++;
	stepper->instructions_visited += position->pass == 1;
	stop = act(stepper);

	bool is_well = ends_as_it_should(stepper, &stop);

	if (!is_well)
		stepper_report_stop(stepper, position, &stop);
	tracee_kill(&stepper->tracee);
	stepper_judge_children(stepper, position, &stepper->begin);
	if (!is_well)
		allowance.in_flight = STEP_CALLS;
	stepper_judge_process(stepper, position, pid, &stepper->begin, &allowance,
		is_well && stepper->action != STEP_KILL ? STEPPER_IN_ORDER : STEPPER_KILLED);
}

bool stepper_go_in_processes(struct stepper *stepper)
{
	for (int i = 0; i < (stepper->operation == STEP_FIRST ? FIRST_RECORDED : RECORDED); i++)
		if (!record(stepper))
			return false;
	/* Leaves out positions that depend on the clock. */
	stepper->once = positions_keep(&stepper->positions,
		stepper->operation == STEP_FIRST ? FIRST_RECORDED : RECORDED - 1, UINT32_MAX);
	for (size_t i = 0; i < stepper->positions.items.count; i += stepper->every)
		visit(stepper, &stepper->positions.items.items[i]);
	return true;
}
