/* SPDX-License-Identifier: MIT */
/*
 * Runs its arguments, which are commands, one after the other. Prints their results:
 *
 *	step push:NAME pop mark:NAME recording   calls of gpumemtrace.h in this program
 *	lpush:NAME lpop                          the same calls in a shared library
 *	many:N manypop:N                         begins or ends N phases
 *	alloc                                    allocates CUDA memory
 *	fork                                     a child runs the rest; the parent waits for it
 *	thread                                   a thread runs the rest; the first thread waits for it
 *	quit                                     ends with _exit
 */
#include <cuda_runtime_api.h>
#include <gpumemtrace.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "marks_library.h"

static void *run_rest(void *words);

static const char *name_in(const char *word, const char *verb)
{
	size_t length = strlen(verb);

	return strncmp(word, verb, length) == 0 && word[length] == ':' ? word + length + 1 : NULL;
}

static void run_verb(const char *verb)
{
	void *block;

	if (strcmp(verb, "step") == 0)
		gpumemtrace_step();
	else if (strcmp(verb, "pop") == 0)
		gpumemtrace_phase_pop();
	else if (strcmp(verb, "lpop") == 0)
		library_pop();
	else if (strcmp(verb, "recording") == 0)
		printf("recording %d\n", gpumemtrace_is_recording());
	else if (strcmp(verb, "alloc") == 0)
		printf("alloc %d\n", (int)cudaMalloc(&block, 1000));
	else if (strcmp(verb, "quit") == 0)
		_exit(7);
}

static void say_name(const char *word)
{
	char copy[512] = "";
	const char *name;

	/* The recorder must not keep the program's own string. */
	if ((name = name_in(word, "push")) || (name = name_in(word, "mark")) ||
		(name = name_in(word, "lpush")))
		strncpy(copy, name, sizeof(copy) - 1);
	if (name_in(word, "push"))
		gpumemtrace_phase_push(copy);
	else if (name_in(word, "mark"))
		gpumemtrace_mark(copy);
	else if (name_in(word, "lpush"))
		library_push(copy);
	memset(copy, 'X', sizeof(copy) - 1);
	if ((name = name_in(word, "many")))
		for (int i = 0; i < atoi(name); i++)
			gpumemtrace_phase_push("many");
	if ((name = name_in(word, "manypop")))
		for (int i = 0; i < atoi(name); i++)
			gpumemtrace_phase_pop();
}

static void run_in_thread(char **words)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run_rest, words);
	pthread_join(thread, NULL);
}

static void *run_rest(void *words)
{
	for (char **word = (char **)words; *word; word++) {
		if (strcmp(*word, "thread") == 0) {
			run_in_thread(word + 1);
			return NULL;
		}
		if (strcmp(*word, "fork") == 0 && fork()) {
			wait(NULL);
			return NULL;
		}
		run_verb(*word);
		say_name(*word);
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	(void)argc;
	run_rest(argv + 1);
	return 3;
}
