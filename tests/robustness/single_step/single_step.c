/* SPDX-License-Identifier: MIT */
/*
 * single-step SHIM DRIVERS TARGET FOLDER OPERATION ACTION STACK STACKS EVERY [each|rare|lazy]:
 * steps through a hooked call of TARGET, stops in front of each instruction of the recorder and
 * does ACTION there. FOLDER is for recordings. STACKS is the recorder's option. EVERY n: visits
 * only every n-th position. each: an instruction counts again each time that the call comes to it.
 * rare: only positions that few calls go through. lazy: the recorder makes no thread (writer=lazy).
 * Prints errors, by the offset of the instruction in SHIM, and one line of counts. Exit code 1:
 * there are errors; 77: the system does not allow stepping.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "stepper.h"

enum { ARGUMENTS = 10, PATIENCE_S = 40, CANNOT = 77 };

static const char *const operations[STEP_OPERATIONS] = { "alloc-same", "alloc-recalled",
	"alloc-new", "free", "runtime-alloc", "runtime-free", "alloc-refused", "first" };
static const char *const actions[STEP_ACTIONS] = { "return", "allocate", "fork", "fork-twice",
	"jump", "exit", "exit-quick", "kill" };
static const char *const stack_names[STEP_STACKS] = { "own", "apart", "inside" };

static int find(const char *word, const char *const *words, int count)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(word, words[i]))
			return i;
	fprintf(stderr, "single-step: no such word: %s\n", word);
	exit(2);
}

static void on_timer(int number)
{
	(void)number;
}

/* Starts a timer that interrupts waitpid, so that waits have a limit. */
static void start_timer(void)
{
	struct sigaction action = { .sa_handler = on_timer };
	struct itimerval each_second = { { 1, 0 }, { 1, 0 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &each_second, NULL);
}

static struct step_log *make_log(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, sizeof(struct step_log))) {
		perror(path);
		exit(2);
	}

	void *memory = mmap(NULL, sizeof(struct step_log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	if (memory == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	return memory;
}

static char *text(const char *format, const char *first, const char *second)
{
	char *ret_text = NULL;

	/* NOLINTNEXTLINE: the formats are below. */
	if (asprintf(&ret_text, format, first, second) < 0)
		exit(2);
	return ret_text;
}

/*
 * Returns whether each position needs its own process. The memory of a recorder without a thread is
 * in no file, so its rounds can be judged only at the end of the process.
 */
static bool is_in_processes(const struct stepper *stepper)
{
	return stepper->operation == STEP_FIRST || stepper->action >= STEP_EXIT || stepper->is_lazy;
}

int main(int count, char **words)
{
	static struct stepper stepper;

	if (count < ARGUMENTS)
		return 2;

	const char *how = count > ARGUMENTS ? words[ARGUMENTS] : "";

	stepper = (struct stepper){
		.target = words[3],
		.folder = realpath(words[4], NULL),
		.operation = (enum step_operation)find(words[5], operations, STEP_OPERATIONS),
		.action = (enum step_action)find(words[6], actions, STEP_ACTIONS),
		.stack = (enum step_stack)find(words[7], stack_names, STEP_STACKS),
		.is_native = strcmp(words[8], "none") != 0,
		.every = (unsigned)strtoul(words[9], NULL, 10),
		.each_step = !strcmp(how, "each"),
		.is_rare = !strcmp(how, "rare"),
		.is_lazy = !strcmp(how, "lazy"),
		.tracee.patience_s = PATIENCE_S,
	};
	if (!stepper.every || !stepper.folder)
		return 2;

	char *path = text("%s/log%s", words[4], "");

	stepper.step_log = stepper.tracee.step_log = make_log(path);
	stepper.environment[0] = text("LD_PRELOAD=%s%s", words[1], "");
	stepper.environment[1] = text("LD_LIBRARY_PATH=%s%s", words[2], "");
	stepper.environment[2] = text(stepper.is_lazy
			? "GPUMEMTRACE_OPTIONS=output='%s/%%p.gmt.gz':overflow=wait:samples=off:"
			  "stacks=%s:writer=lazy"
			: "GPUMEMTRACE_OPTIONS=output='%s/%%p.gmt.gz':overflow=wait:samples=off:stacks=%s",
		words[4], words[8]);
	stepper.environment[3] = text(STEP_LOG_VARIABLE "=%s%s", path, "");
	start_timer();
	if (!tracee_is_possible()) {
		fputs("single steps and debug registers are not allowed here\n", stderr);
		return CANNOT;
	}

	bool is_done = is_in_processes(&stepper) ? stepper_go_in_processes(&stepper)
											 : stepper_go_in_rounds(&stepper);
	size_t instructions = positions_count_instructions(&stepper.positions);

	printf("%s: %zu instructions of %" PRIu64 " steps, %" PRIu64
		   " positions once, %zu positions: %" PRIu64 " visited, %" PRIu64 " instructions, %" PRIu64
		   " not reached; %" PRIu64 " processes, %" PRIu64 " children, %" PRIu64 " wrong\n",
		is_done ? "done" : "given up", instructions, stepper.path_steps, stepper.once,
		stepper.positions.items.count, stepper.visited, stepper.instructions_visited,
		stepper.not_reached, stepper.processes, stepper.children, stepper.wrong);
	positions_fini(&stepper.positions);
	return !is_done || stepper.wrong ? 1 : 0;
}
