/* SPDX-License-Identifier: MIT */
#include "tracee.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	ENVIRONMENT_MOST = 512,
	BREAKPOINT_ON = 1 /* of debug register 7: number 0, at an instruction */
};

bool tracee_is_in_shim(const struct tracee *tracee, uint64_t address)
{
	return address >= tracee->shim.start && address < tracee->shim.end;
}

static bool is_stepped(const struct tracee *tracee, uint64_t address)
{
	for (unsigned i = 0; i < tracee->through_count; i++)
		if (address >= tracee->through[i].start && address < tracee->through[i].end)
			return true;
	return tracee_is_in_shim(tracee, address);
}

bool tracee_set_breakpoint(struct tracee *tracee, uint64_t address)
{
	/* The register is switched off while its address changes. */
	if (ptrace(PTRACE_POKEUSER, tracee->pid, offsetof(struct user, u_debugreg[7]), (void *)0))
		return false;
	if (!address)
		return true;
	return !ptrace(PTRACE_POKEUSER, tracee->pid, offsetof(struct user, u_debugreg[0]),
			   (void *)address) &&
		!ptrace(PTRACE_POKEUSER, tracee->pid, offsetof(struct user, u_debugreg[7]),
			(void *)(long)BREAKPOINT_ON);
}

static bool is_end_of_process(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
		number == SIGABRT;
}

/* Calls waitpid with a limit: the timer of single_step.c interrupts it each second. */
static bool wait_for(pid_t pid, unsigned patience_s, int *ret_status)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (waitpid(pid, ret_status, __WALL) != pid) {
		if (errno != EINTR)
			return false;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec - begin.tv_sec > (time_t)patience_s) {
			errno = ETIMEDOUT;
			return false;
		}
	}
	return true;
}

static struct tracee_stop resume(struct tracee *tracee, int request, int number)
{
	struct tracee_stop stop = { .event = TRACEE_FAILED };
	struct user_regs_struct registers;
	siginfo_t info;

	for (;;) {
		if (ptrace(request, tracee->pid, NULL, (void *)(long)number)) {
			/* ESRCH: the process was killed while it was stopped. */
			if (errno != ESRCH)
				return stop;
		}
		if (!wait_for(tracee->pid, tracee->patience_s, &stop.status)) {
			stop.event = errno == ETIMEDOUT ? TRACEE_HUNG : TRACEE_FAILED;
			return stop;
		}
		if (WIFEXITED(stop.status) || WIFSIGNALED(stop.status)) {
			tracee->pid = 0;
			stop.event = TRACEE_ENDED;
			return stop;
		}
		number = WSTOPSIG(stop.status);
		if (number == SIGTRAP)
			break;
		if (is_end_of_process(number)) {
			stop.signal = number;
			if (!ptrace(PTRACE_GETREGS, tracee->pid, NULL, &registers))
				stop.ip = registers.rip;
		}
	}
	if (ptrace(PTRACE_GETREGS, tracee->pid, NULL, &registers) ||
		ptrace(PTRACE_GETSIGINFO, tracee->pid, NULL, &info))
		return stop;
	stop.ip = registers.rip;
	stop.event = info.si_code == SI_KERNEL ? TRACEE_GATE
		: info.si_code == TRAP_HWBKPT      ? TRACEE_BREAK
										   : TRACEE_STEPPED;
	return stop;
}

struct tracee_stop tracee_run(struct tracee *tracee, int number)
{
	return resume(tracee, PTRACE_CONT, number);
}

/* Runs from the first instruction of a function to its return, without stepping. */
static struct tracee_stop run_to_return(struct tracee *tracee)
{
	struct tracee_stop stop = { .event = TRACEE_FAILED };
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, tracee->pid, NULL, &registers))
		return stop;
	errno = 0;

	long address = ptrace(PTRACE_PEEKDATA, tracee->pid, (void *)registers.rsp, NULL);
	uint64_t stack_pointer = registers.rsp;

	if ((address == -1 && errno) || !tracee_set_breakpoint(tracee, (uint64_t)address))
		return stop;
	do {
		stop = resume(tracee, PTRACE_CONT, 0);
		if (stop.event == TRACEE_GATE)
			tracee_set_breakpoint(tracee, 0);
		if (stop.event != TRACEE_BREAK)
			return stop;
		if (ptrace(PTRACE_GETREGS, tracee->pid, NULL, &registers))
			return (struct tracee_stop){ .event = TRACEE_FAILED };
		/* The loop continues past returns of deeper calls of the same function. */
	} while (registers.rsp <= stack_pointer);
	tracee_set_breakpoint(tracee, 0);
	stop.event = TRACEE_STEPPED;
	return stop;
}

struct tracee_stop tracee_step(struct tracee *tracee)
{
	struct tracee_stop stop;

	tracee_set_breakpoint(tracee, 0);
	stop = resume(tracee, PTRACE_SINGLESTEP, 0);
	if (stop.event == TRACEE_BREAK)
		stop.event = TRACEE_STEPPED;
	while (stop.event == TRACEE_STEPPED && !is_stepped(tracee, stop.ip))
		stop = run_to_return(tracee);
	return stop;
}

bool tracee_is_possible(void)
{
	struct tracee tracee = { .pid = fork(), .patience_s = 10 };
	bool is_possible = false;
	int status;

	if (tracee.pid == 0) {
		if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			raise(SIGSTOP);
		_exit(0);
	}
	if (tracee.pid > 0 && wait_for(tracee.pid, tracee.patience_s, &status) && WIFSTOPPED(status)) {
		is_possible = tracee_set_breakpoint(&tracee, (uint64_t)(uintptr_t)tracee_is_possible);
		tracee_kill(&tracee);
	}
	return is_possible;
}

struct tracee_stop tracee_start(struct tracee *tracee, const char *program,
	char *const environment[])
{
	char *all[ENVIRONMENT_MOST] = { NULL };
	size_t count = 0;
	int status;

	for (char *const *variable = environ; *variable && count < ENVIRONMENT_MOST / 2; variable++)
		if (strncmp(*variable, "LD_", 3) && strncmp(*variable, "GPUMEMTRACE_", 12))
			all[count++] = *variable;
	for (; *environment && count < ENVIRONMENT_MOST - 1; environment++)
		all[count++] = *environment;

	pid_t pid = fork();

	if (pid == 0) {
		char *const arguments[] = { strdup(program), NULL };

		if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			execve(program, arguments, all);
		_exit(99);
	}
	tracee->pid = pid;
	if (pid < 0 || !wait_for(pid, tracee->patience_s, &status) || !WIFSTOPPED(status) ||
		ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(long)PTRACE_O_EXITKILL)) {
		if (pid > 0 && (WIFEXITED(status) || WIFSIGNALED(status)))
			tracee->pid = 0;
		return (struct tracee_stop){ .event = TRACEE_FAILED };
	}
	return tracee_run(tracee, 0);
}

bool tracee_find_code(struct tracee *tracee)
{
	char path[64], line[4096 + 256];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)tracee->pid);
	FILE *maps = fopen(path, "r");

	tracee->through_count = 0;
	tracee->shim = (struct range){ 0, 0 };
	tracee->shim_base = 0;
	while (maps && fgets(line, sizeof(line), maps)) {
		struct range range;
		char rights[8];

		if (sscanf(line, "%lx-%lx %7s", &range.start, &range.end, rights) != 3)
			continue;
		if (!tracee->shim_base && strstr(line, "/libgpumemtrace.so"))
			tracee->shim_base = range.start;
		if (rights[2] != 'x')
			continue;
		if (strstr(line, "/libgpumemtrace.so"))
			tracee->shim = range;
		else if ((strstr(line, "/step-target") || strstr(line, "/libstep-runtime.so")) &&
			tracee->through_count < TRACEE_THROUGH)
			tracee->through[tracee->through_count++] = range;
	}
	if (maps)
		fclose(maps);
	return tracee->shim.start != 0;
}

void tracee_kill(struct tracee *tracee)
{
	int status;

	if (!tracee->pid)
		return;
	kill(tracee->pid, SIGKILL);
	do {
		if (!wait_for(tracee->pid, tracee->patience_s, &status))
			break;
	} while (WIFSTOPPED(status));
	tracee->pid = 0;
}
