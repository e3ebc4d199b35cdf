/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_CONTROL_H
#define GMT_SHARED_MEMORY_CONTROL_H

/*
 * One page of memory that a recorder that runs shares with those who ask it: a file <pid>.control in the
 * runtime folder (system/runtime_folder.h), readable by the user alone. The recorder keeps a lock on it
 * (F_OFD_SETLK, the whole file) as long as it lives, so that a reader knows whether it does: process ids are given again,
 * and mean other processes in other containers.
 *
 * The recorder tells how it is doing, with plain stores; a reader asks, one at a time:
 *
 *	reader    turn: IDLE -> CLAIMED (compare and exchange), fills in verb and argument, turn: ASKED
 *	recorder  sees ASKED within a quarter of a second, turn: AT_WORK, ..., fills in the answer, turn: ANSWERED
 *	reader    reads the answer, turn: IDLE
 *
 * A reader that died in between leaves `asker` behind, a process that is gone: the next one takes its turn over.
 */

#include <stdatomic.h>
#include <stdint.h>

#define GMT_CONTROL_MAGIC "GMTCTRL\n"

enum { GMT_CONTROL_VERSION = 1, GMT_CONTROL_PATH_BYTES = 4352, GMT_CONTROL_TEXT_BYTES = 256 };

enum gmt_control_state {
	GMT_CONTROL_RECORDING = 1,
	GMT_CONTROL_PAUSED,  /* blocks are recorded without stacks */
	GMT_CONTROL_STOPPED, /* the file can no longer be written */
	GMT_CONTROL_ENDED,
};

enum gmt_control_verb {
	GMT_CONTROL_SNAPSHOT = 1, /* `argument`: the absolute path to write, or empty; the answer is the path written */
	GMT_CONTROL_PAUSE,
	GMT_CONTROL_RESUME,
};

enum gmt_control_turn {
	GMT_CONTROL_IDLE,
	GMT_CONTROL_CLAIMED,
	GMT_CONTROL_ASKED,
	GMT_CONTROL_AT_WORK,
	GMT_CONTROL_ANSWERED,
};

struct gmt_control {
	char magic[8];
	uint32_t version;
	uint32_t pid;               /* as the process sees it */
	uint64_t start_ticks;       /* of the process since boot, as /proc/PID/stat says it; 0 is not known */
	uint64_t start_time_ns;     /* of the recording, Unix epoch */
	char mode[16];              /* of the recording: full, window, aggregate */
	char program[GMT_CONTROL_TEXT_BYTES];
	char path[GMT_CONTROL_PATH_BYTES]; /* of the file */
	/* Told once a round of the writer; each by itself true, not all at one moment. */
	_Atomic uint32_t state;     /* enum gmt_control_state */
	_Atomic uint32_t threads;   /* that made events so far */
	_Atomic uint64_t events;    /* in the file */
	_Atomic uint64_t dropped;   /* events that were lost */
	_Atomic uint64_t file_bytes;
	_Atomic uint64_t snapshots; /* written so far */
	_Atomic uint64_t told_ns;   /* when, CLOCK_MONOTONIC */
	/* Asked and answered. */
	_Atomic uint32_t turn;      /* enum gmt_control_turn */
	_Atomic uint32_t asker;     /* process id of the reader whose turn it is */
	uint32_t verb;              /* enum gmt_control_verb */
	uint32_t has_failed;        /* the answer is a reason */
	char argument[GMT_CONTROL_PATH_BYTES];
	char answer[GMT_CONTROL_PATH_BYTES + GMT_CONTROL_TEXT_BYTES];
};

#endif
