/* SPDX-License-Identifier: MIT */
#ifndef GMT_TESTS_OWN_TASKS_H
#define GMT_TESTS_OWN_TASKS_H

/*
 * For programs that tests run: the states of threads of their own process. Does the same as
 * tests/helpers/tasks.py.
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OWN_TASKS_LOOK_US = 1000, OWN_TASKS_LOOKS = 120000 };

/*
 * Returns how often the thread with this name has gone to sleep by itself. Returns -1 while the
 * thread runs, or if there is no such thread.
 */
static inline long own_task_sleeps(const char *name)
{
	char path[300], text[4096], wanted[64];
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	long sleeps = -1;

	snprintf(wanted, sizeof(wanted), "Name:\t%s\n", name);
	while (tasks && sleeps < 0 && (task = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);

		FILE *file = fopen(path, "re");
		size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
		const char *count;

		if (file)
			fclose(file);
		text[length] = 0;
		count = strstr(text, "\nvoluntary_ctxt_switches:");
		if (count && !strncmp(text, wanted, strlen(wanted)) && strstr(text, "\nState:\tS"))
			sleeps = strtol(strchr(count, ':') + 1, NULL, 10);
	}
	if (tasks)
		closedir(tasks);
	return sleeps;
}

/*
 * Waits until a thread that sleeps between its turns has finished a whole turn, and sleeps again.
 * `meanwhile` may cause the turn.
 */
static inline void wait_for_turn_of(const char *name, void (*meanwhile)(void))
{
	long before = -1, now = -1;

	for (int i = 0; i < OWN_TASKS_LOOKS && (before < 0 || now <= before); i++) {
		if (meanwhile)
			meanwhile();
		usleep(OWN_TASKS_LOOK_US);
		now = own_task_sleeps(name);
		if (before < 0)
			before = now;
	}
}

#endif
