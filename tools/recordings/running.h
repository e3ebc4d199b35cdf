/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RUNNING_H
#define GMT_TOOLS_RECORDINGS_RUNNING_H

/*
 * Processes of this user that are being recorded, found by their control files (shared_memory/control.h). What is in
 * those is read with care: they are files.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared_memory/control.h"

struct gmt_running {
	uint32_t pid;        /* as the process sees it */
	struct gmt_control about; /* a copy of what the recorder says, each text with its end */
	int fd;              /* of the control file */
};

/*
 * Calls `see` for each recorder that is alive, until it answers false. `running` goes when `see` returns. Control
 * files of processes that are gone are removed.
 */
void gmt_running_each(bool (*see)(void *context, const struct gmt_running *running), void *context);

/* A copy of a text of the page, which may lack its end: at most `bytes` with the NUL. */
void gmt_running_text(const char *text, size_t text_bytes, char *ret_copy, size_t bytes);

/*
 * Asks the recorder of process `pid` and waits for its answer, which is written to ret_answer; `argument` may be
 * NULL. Returns the exit code: 0, or 3 with one line said.
 */
int gmt_running_ask(uint32_t pid, enum gmt_control_verb verb, const char *argument, char *ret_answer, size_t answer_bytes);

/* As JSON: what became of a process that was asked. */
void gmt_running_print(uint32_t pid, const char *key, const char *text);

/* Reads the operand of a verb that is about one process. False, and said, when it is none. */
bool gmt_running_operand(const char *verb, int argc, char **argv, uint32_t *ret_pid);

#endif
