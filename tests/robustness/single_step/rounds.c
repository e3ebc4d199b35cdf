/* SPDX-License-Identifier: MIT */
/* Visits many positions in one process. The handler returns, or jumps out of the call. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "stepper.h"

enum { WARM_ROUNDS = 12, WAYS = 4, RECORDED = 3 * WAYS, TRIES = 8 };

/* The recorder times one call in 1,021, so one round in 1,021 takes this path. */
enum { RARE_RECORDED = 1100, RARE_TRIES = 1100 };

/* The process in which the rounds run. */
struct rounds {
	struct judge_memory memory;
	struct judge_stacks stacks;
	struct judge_counts counts; /* at the end of the last round */
	struct stepper_mark mark;   /* at the end of the last round */
	pid_t pid;
	uint64_t visited, jumps;
};

static struct judge_allowance allowance_of(const struct stepper *stepper)
{
	/*
	 * A jump may happen before or after the driver is called. A refused call is not in the log, but
	 * is two events.
	 */
	bool jumps = stepper->action == STEP_JUMP,
		 is_refused = stepper->operation == STEP_ALLOC_REFUSED;

	return (struct judge_allowance){ .counted_twice = jumps ? is_refused ? 3 : 1 : 0,
		.missing_program_calls = jumps };
}

static bool is_shared_stack(const struct stepper *stepper)
{
	return stepper->is_native && stepper->operation != STEP_ALLOC_NEW;
}

/* Judges the calls since the last judgement. */
static void judge(struct stepper *stepper, struct rounds *rounds, const struct position *position,
	struct judge_stacks *stacks)
{
	unsigned way =
		stepper->operation == STEP_ALLOC_RECALLED ? (stepper->step_log->rounds - 1) % WAYS : 0;
	struct judge_allowance allowance = allowance_of(stepper);
	struct stepper_mark now = stepper_mark(stepper);
	struct judge_calls calls = { stepper->step_log, rounds->mark.calls, now.calls, rounds->pid };
	char text[JUDGE_TEXT_BYTES];

	judge_round(&rounds->memory, &rounds->counts, &calls, &allowance, stacks, way, text);
	if (text[0])
		stepper_report(stepper, position, "%s", text);
	stepper_judge_children(stepper, position, &rounds->mark);
	rounds->counts = judge_memory_counts(&rounds->memory);
	rounds->mark = now;
}

/* Runs the program to the gate before its next call, and judges the round. */
static bool end_round(struct stepper *stepper, struct rounds *rounds,
	const struct position *position, int number)
{
	struct tracee_stop stop = stepper_run_to(stepper, STEP_SETTLED, number);

	if (stop.event != TRACEE_GATE) {
		stepper_report_stop(stepper, position, &stop);
		return false;
	}
	judge(stepper, rounds, position, is_shared_stack(stepper) ? &rounds->stacks : NULL);
	stop = stepper_run_to(stepper, STEP_BEFORE_CALL, 0);
	if (stop.event == TRACEE_GATE)
		return true;
	stepper_report_stop(stepper, position, &stop);
	return false;
}

static bool begin(struct stepper *stepper, struct rounds *rounds)
{
	struct tracee_stop stop = { .event = TRACEE_GATE };
	char path[STEPPER_PATH_BYTES];

	*rounds = (struct rounds){ .pid = 0 };
	if (!stepper_start(stepper))
		return false;
	rounds->pid = stepper->tracee.pid;
	for (int i = 0; i < WARM_ROUNDS && stop.event == TRACEE_GATE; i++)
		stop = stepper_run_to(stepper, STEP_BEFORE_CALL, 0);
	if (stop.event != TRACEE_GATE) {
		stepper_report_stop(stepper, NULL, &stop);
		return false;
	}
	stepper_name_recording(stepper, rounds->pid, path);
	if (!judge_memory_open(&rounds->memory, rounds->pid, path)) {
		stepper_report(stepper, NULL, "nothing is recorded");
		return false;
	}
	rounds->counts = judge_memory_counts(&rounds->memory);
	rounds->mark = stepper_mark(stepper);
	return true;
}

/* Lets the program end normally, if it can, and judges its whole recording. */
static void end(struct stepper *stepper, struct rounds *rounds, bool is_well)
{
	const struct judge_allowance allowance = { .counted_twice = rounds->jumps *
			allowance_of(stepper).counted_twice,
		.missing_program_calls = rounds->jumps,
		.peak_bytes = STEP_OF_HANDLER };

	if (rounds->pid && is_well) {
		struct tracee_stop stop;

		stepper->step_log->must_end = 1;
		do
			stop = tracee_run(&stepper->tracee, 0);
		while (stop.event == TRACEE_GATE);
		is_well =
			stop.event == TRACEE_ENDED && WIFEXITED(stop.status) && WEXITSTATUS(stop.status) == 0;
		if (!is_well)
			stepper_report_stop(stepper, NULL, &stop);
	}
	tracee_kill(&stepper->tracee);
	judge_memory_close(&rounds->memory);
	/* The stepper has already reported errors of single rounds. */
	if (rounds->pid && is_well)
		stepper_judge_process(stepper, NULL, rounds->pid, &stepper->begin, &allowance,
			STEPPER_IN_ORDER);
	else if (rounds->pid)
		stepper_forget_recording(stepper, rounds->pid);
}

enum visit { VISITED, NOT_REACHED, BROKEN };

/*
 * Stops at the position in one of the next rounds, and lets the handler run. Returns BROKEN when
 * the process cannot be used any more.
 */
static enum visit visit(struct stepper *stepper, struct rounds *rounds,
	const struct position *position)
{
	uint64_t wrong = stepper->wrong;

	for (int i = 0; i < (stepper->is_rare ? RARE_TRIES : TRIES); i++) {
		struct tracee_stop stop = path_go_to(&stepper->tracee, position);

		if (stop.event == TRACEE_BREAK) {
			rounds->visited++;
			stepper->visited++;
			stepper->instructions_visited += position->pass == 1;
			rounds->jumps += stepper->action == STEP_JUMP;
			/* If the thread is not recorded any more, the process cannot test the next position. */
			return end_round(stepper, rounds, position, SIGUSR1) && stepper->wrong == wrong
				? VISITED
				: BROKEN;
		}
		if (stop.event != TRACEE_GATE) {
			stepper_report_stop(stepper, position, &stop);
			return BROKEN;
		}
		if (!end_round(stepper, rounds, NULL, 0))
			return BROKEN;
	}
	return NOT_REACHED;
}

static bool is_log_nearly_full(const struct stepper *stepper)
{
	return stepper->step_log->call_count > STEP_CALLS / 8 * 7 ||
		stepper->step_log->process_count > STEP_PROCESSES / 8 * 7;
}

static bool begin_again(struct stepper *stepper, struct rounds *rounds, bool is_well)
{
	end(stepper, rounds, is_well);
	if (begin(stepper, rounds))
		return true;
	end(stepper, rounds, false);
	return false;
}

/*
 * Visits the position. If the call does not come there, tries again in a new process: earlier
 * visits may have changed the path.
 */
static bool visit_also_in_a_new_process(struct stepper *stepper, struct rounds *rounds,
	const struct position *position)
{
	enum visit visited = visit(stepper, rounds, position);

	if (visited == NOT_REACHED && rounds->visited && !stepper->is_rare) {
		stepper_report(stepper, position, "the call does not come there any more");
		if (!begin_again(stepper, rounds, true))
			return false;
		visited = visit(stepper, rounds, position);
	}
	if (visited == NOT_REACHED) {
		stepper->not_reached++;
		if (!stepper->is_rare)
			stepper_report(stepper, position, "the call did not come there again");
	}
	return visited != BROKEN || begin_again(stepper, rounds, false);
}

/*
 * Leaves out positions that depend on the clock or appear once in very many calls. In rare mode it
 * keeps only these. Returns the number of positions that it left out.
 */
static size_t keep_positions(struct stepper *stepper)
{
	uint32_t usual = stepper->operation == STEP_ALLOC_RECALLED ? RECORDED / WAYS : RECORDED / 2;

	return stepper->is_rare ? positions_keep(&stepper->positions, 1, RARE_RECORDED / WAYS / 2)
							: positions_keep(&stepper->positions, usual, UINT32_MAX);
}

bool stepper_go_in_rounds(struct stepper *stepper)
{
	struct rounds rounds;
	bool is_well = begin(stepper, &rounds) &&
		stepper_record(stepper, stepper->is_rare ? RARE_RECORDED : RECORDED);

	/* Judges all recorded rounds at once. */
	if (is_well) {
		judge(stepper, &rounds, NULL, NULL);
		stepper->once = keep_positions(stepper);
	} else {
		end(stepper, &rounds, false);
	}
	for (size_t i = 0; is_well && i < stepper->positions.items.count; i += stepper->every)
		is_well = (!is_log_nearly_full(stepper) || begin_again(stepper, &rounds, true)) &&
			visit_also_in_a_new_process(stepper, &rounds, &stepper->positions.items.items[i]);
	if (is_well)
		end(stepper, &rounds, true);
	return is_well;
}
