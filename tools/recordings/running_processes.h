/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RUNNING_PROCESSES_H
#define GMT_TOOLS_RECORDINGS_RUNNING_PROCESSES_H

/*
 * Processes of this user that are being recorded, found by their control files
 * (shared_memory/control_page.h). The content of the control files is not trusted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_memory/control_page.h"

struct gmt_running_process {
	uint32_t pid;        /* process id in the process's own namespace */
	struct gmt_control_page control; /* a copy of the control page; each text is terminated */
	int fd;              /* the control file */
};

/*
 * Calls `visit` for each process until `visit` returns false. `running` is valid only during the
 * call. Removes control files of processes that have ended.
 */
void gmt_running_processes_each(bool (*visit)(void *context,
									const struct gmt_running_process *running),
	void *context);

/*
 * Copies a text of the control page, which may lack its NUL. Writes at most `bytes` bytes,
 * including a NUL.
 */
void gmt_running_processes_text(const char *text, size_t text_bytes, char *ret_copy, size_t bytes);

/*
 * Sends a request to the recorder of process `pid`, waits, and writes the answer to ret_answer.
 * `argument` may be NULL. Returns the exit code: 0, or 3 after an error message.
 */
int gmt_running_processes_request(uint32_t pid, enum gmt_control_verb verb, const char *argument,
	char *ret_answer, size_t answer_bytes);

/* Prints the result of a request to a process as JSON: {"pid": pid, key: text}. */
void gmt_running_processes_print_json(uint32_t pid, const char *key, const char *text);

/*
 * Parses the process id, which is the only operand of `snapshot`, `pause` and `resume`. If it is
 * missing or not valid, prints an error and returns false.
 */
bool gmt_running_processes_parse_pid(const char *verb, int argc, char **argv, uint32_t *ret_pid);

#endif
