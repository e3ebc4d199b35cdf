/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DOCTOR_DOCTOR_SUBPROCESS_H
#define GMT_TOOLS_DOCTOR_DOCTOR_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* What a child process said until it ended or its time was over. */
struct gmt_subprocess {
	bool is_started;
	bool is_late;  /* and was killed */
	int status;    /* as waitpid gives it */
	char out[65536], err[8192]; /* ended by a zero; what does not fit is left out */
};

/*
 * Runs `path` with `argv` and this process's environment, changed: each of `changes` (ended by NULL) is
 * "NAME=VALUE", or "NAME" for one that shall not be there. Its input is empty. After `limit_ms` it is killed.
 */
void gmt_subprocess_run(const char *path, const char *const argv[], const char *const changes[], int limit_ms,
	struct gmt_subprocess *ret_process);

/*
 * The line of stderr that has `word` in it, or the last one that is not empty when no line has or `word` is NULL.
 */
void gmt_subprocess_complaint(const struct gmt_subprocess *process, const char *word, char *ret_line, size_t line_bytes);

#endif
