/* SPDX-License-Identifier: MIT */
#include "stepper.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { REPORTED = 2000 };

struct stepper_mark stepper_mark(const struct stepper *stepper)
{
	const struct step_log *log = stepper->step_log;

	return (struct stepper_mark){ log->call_count, log->process_count, log->canary_changed };
}

void stepper_report(struct stepper *stepper, const struct position *position, const char *format,
	...)
{
	va_list arguments;

	if (stepper->wrong++ >= REPORTED)
		return;
	if (position)
		printf("wrong at 0x%" PRIx64 " pass %" PRIu32 ": ", position->offset, position->pass);
	else
		printf("wrong: ");
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	fflush(stdout);
}

void stepper_report_stop(struct stepper *stepper, const struct position *position,
	const struct tracee_stop *stop)
{
	uint64_t offset =
		tracee_is_in_shim(&stepper->tracee, stop->ip) ? stop->ip - stepper->tracee.shim_base : 0;

	switch (stop->event) {
	case TRACEE_HUNG:
		stepper_report(stepper, position, "the program hangs");
		break;
	case TRACEE_ENDED:
		if (WIFSIGNALED(stop->status))
			stepper_report(stepper, position, "the program dies by signal %d at 0x%" PRIx64,
				WTERMSIG(stop->status), offset);
		else
			stepper_report(stepper, position, "the program ends with code %d",
				WEXITSTATUS(stop->status));
		break;
	default:
		stepper_report(stepper, position,
			"the program stops where it should not (%d, 0x%" PRIx64 ")", (int)stop->event, offset);
	}
}

bool stepper_start(struct stepper *stepper)
{
	struct step_log *log = stepper->step_log;

	if (log->call_count > STEP_CALLS / 4 * 3 || log->process_count > STEP_PROCESSES / 4 * 3)
		memset(log, 0, sizeof(*log));
	stepper->begin = stepper_mark(stepper);
	log->operation = stepper->operation;
	log->action = stepper->action;
	log->stack = stepper->stack;
	log->patience_s = stepper->tracee.patience_s / 2;
	log->gate = log->rounds = log->must_end = 0;
	stepper->processes++;

	struct tracee_stop stop = tracee_start(&stepper->tracee, stepper->target, stepper->environment);

	if (stop.event != TRACEE_GATE) {
		stepper_report_stop(stepper, NULL, &stop);
		tracee_kill(&stepper->tracee);
		return false;
	}
	if (tracee_find_code(&stepper->tracee))
		return true;
	stepper_report(stepper, NULL, "the recorder is not in the process");
	tracee_kill(&stepper->tracee);
	return false;
}

struct tracee_stop stepper_run_to(struct stepper *stepper, enum step_gate gate, int number)
{
	struct tracee_stop stop;

	do {
		stop = tracee_run(&stepper->tracee, number);
		number = 0;
	} while (stop.event == TRACEE_GATE && stepper->step_log->gate != gate);
	return stop;
}

bool stepper_record(struct stepper *stepper, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++) {
		struct path path = { .addresses = { 0 } };
		struct tracee_stop stop = path_record(&stepper->tracee, &path);
		bool is_added = stop.event == TRACEE_GATE &&
			positions_add(&stepper->positions, &path, stepper->tracee.shim_base,
				stepper->each_step);

		if (stepper->path_steps < path.addresses.count)
			stepper->path_steps = path.addresses.count;
		path_fini(&path);
		if (!is_added) {
			stepper_report_stop(stepper, NULL, &stop);
			return false;
		}
		stop = stepper_run_to(stepper, STEP_BEFORE_CALL, 0);
		if (stop.event != TRACEE_GATE) {
			stepper_report_stop(stepper, NULL, &stop);
			return false;
		}
	}
	return true;
}

void stepper_name_recording(const struct stepper *stepper, pid_t pid,
	char ret_path[STEPPER_PATH_BYTES])
{
	snprintf(ret_path, STEPPER_PATH_BYTES, "%s/%d.gmt.gz", stepper->folder, (int)pid);
}

void stepper_forget_recording(const struct stepper *stepper, pid_t pid)
{
	char path[STEPPER_PATH_BYTES];
	struct judge_memory memory;

	stepper_name_recording(stepper, pid, path);
	if (judge_memory_open(&memory, pid, path))
		judge_memory_remove(&memory);
	unlink(path);
}

void stepper_judge_process(struct stepper *stepper, const struct position *position, pid_t pid,
	const struct stepper_mark *since, const struct judge_allowance *allowance, enum stepper_end end)
{
	struct judge_calls calls = { stepper->step_log, since->calls, stepper->step_log->call_count,
		pid };
	char path[STEPPER_PATH_BYTES], text[JUDGE_TEXT_BYTES];
	struct judge_memory memory;

	stepper_name_recording(stepper, pid, path);

	bool has_memory = judge_memory_open(&memory, pid, path);

	/*
	 * A process that ended before its recording began has published no event, and has no file.
	 */
	if (stepper->operation == STEP_FIRST && end == STEPPER_KILLED &&
		(!has_memory || !judge_memory_counts(&memory).published))
		text[0] = 0;
	else if (stepper->operation == STEP_FIRST && end == STEPPER_IN_ORDER &&
		stepper->action >= STEP_EXIT && access(path, F_OK))
		text[0] = 0;
	/* Without a thread the recorder writes no file until the process ends normally. */
	else if (stepper->is_lazy && end == STEPPER_KILLED && access(path, F_OK))
		text[0] = 0;
	else
		judge_file(path, end == STEPPER_KILLED && has_memory ? memory.path : NULL, &calls,
			allowance, text);
	if (text[0])
		stepper_report(stepper, position, "%srecording: %s",
			end == STEPPER_CHILD ? "a child's " : "", text);
	if (has_memory && (end != STEPPER_KILLED || stepper->is_lazy))
		stepper_report(stepper, position, "the recorder's memory is left in /dev/shm");
	if (has_memory)
		judge_memory_remove(&memory);
	unlink(path);
}

static void judge_child(struct stepper *stepper, const struct position *position,
	const struct step_process *child, const struct stepper_mark *since)
{
	/* The call under way may belong to both processes. */
	const struct judge_allowance allowance = { .counted_twice =
												   stepper->operation == STEP_ALLOC_REFUSED ? 3 : 1,
		.missing_program_calls = 1 };
	bool is_in_order = child->status != STEP_HUNG && WIFEXITED(child->status);

	stepper->children++;
	if (is_in_order && WEXITSTATUS(child->status) == 0) {
		stepper_judge_process(stepper, position, (pid_t)child->pid, since, &allowance,
			STEPPER_CHILD);
		return;
	}
	if (child->status == STEP_HUNG)
		stepper_report(stepper, position, "a child hangs");
	else if (WIFSIGNALED(child->status))
		stepper_report(stepper, position, "a child dies by signal %d", WTERMSIG(child->status));
	else
		stepper_report(stepper, position, "a child ends with code %d", WEXITSTATUS(child->status));
	stepper_forget_recording(stepper, (pid_t)child->pid);
}

void stepper_judge_children(struct stepper *stepper, const struct position *position,
	const struct stepper_mark *since)
{
	uint32_t now = stepper->step_log->process_count;

	for (uint32_t i = since->processes; i < now; i++) {
		const struct step_process *child = &stepper->step_log->processes[i];

		if (child->is_over)
			judge_child(stepper, position, child, since);
		else
			stepper_report(stepper, position, "no process collects child %u", child->pid);
	}
	if (stepper->step_log->canary_changed != since->canary_changed)
		stepper_report(stepper, position, "%u bytes below the signal stack are changed",
			stepper->step_log->canary_changed - since->canary_changed);
}
