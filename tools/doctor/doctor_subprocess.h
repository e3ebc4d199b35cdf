/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_DOCTOR_DOCTOR_SUBPROCESS_H
#define GMT_TOOLS_DOCTOR_DOCTOR_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* The output of a child process until its end or its time limit. */
struct gmt_doctor_subprocess {
	bool is_started;
	bool has_timed_out;  /* exceeded the time limit and was killed */
	int status;    /* from waitpid */
	char out[65536], err[8192]; /* terminated by a NUL; output that does not fit is left out */
};

/*
 * Runs `path` with `argv` and a changed copy of this process's environment. Each of `changes`
 * (ended by NULL) is "NAME=VALUE", or "NAME" to unset the variable. stdin is /dev/null. The
 * child is killed after `timeout_ms`.
 */
void gmt_doctor_subprocess_run(const char *path, const char *const argv[],
	const char *const changes[], int timeout_ms, struct gmt_doctor_subprocess *ret_process);

/*
 * Copies the line of stderr that contains `word`. If there is no such line or `word` is NULL,
 * copies the last line that is not empty.
 */
void gmt_doctor_subprocess_error_line(const struct gmt_doctor_subprocess *process, const char *word,
	char *ret_line, size_t line_bytes);

#endif
