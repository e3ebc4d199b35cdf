/* SPDX-License-Identifier: MIT */
#ifndef GMT_SHARED_MEMORY_CONTROL_PAGE_H
#define GMT_SHARED_MEMORY_CONTROL_PAGE_H

/*
 * A page of memory that a running recorder shares with readers. It is a file <pid>.control in the
 * runtime folder (system/runtime_folder.h), readable by the user only. The recorder holds a lock on
 * the whole file (F_OFD_SETLK) while it lives, so that a reader can find out whether it still
 * lives. A process id is not sufficient: ids are reused, and an id means another process in another
 * container.
 *
 * The recorder writes its state with plain stores. Readers make requests, one reader at a time:
 *
 *	reader    turn: IDLE -> CLAIMED (compare and exchange); fills in verb and argument;
 *	          turn: REQUESTED
 *	recorder  sees REQUESTED within a quarter of a second; turn: AT_WORK; ...; fills in the answer;
 *	          turn: ANSWERED
 *	reader    reads the answer; turn: IDLE
 *
 * If a reader dies meanwhile, `requester` names a process that no longer exists. The next reader
 * then takes over its turn.
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
	/* `argument`: the absolute path to write, or empty; the answer is the path written */
	GMT_CONTROL_SNAPSHOT = 1,
	GMT_CONTROL_PAUSE,
	GMT_CONTROL_RESUME,
};

enum gmt_control_turn {
	GMT_CONTROL_IDLE,
	GMT_CONTROL_CLAIMED,
	GMT_CONTROL_REQUESTED,
	GMT_CONTROL_AT_WORK,
	GMT_CONTROL_ANSWERED,
};

struct gmt_control_page {
	char magic[8];
	uint32_t version;
	uint32_t pid;               /* process id, as the process sees it */
	/* start of the process since boot, as in /proc/PID/stat; 0: unknown */
	uint64_t start_ticks;
	uint64_t start_time_ns;     /* start of the recording, Unix epoch */
	char mode[16];              /* recording mode: full, window, aggregate */
	char program[GMT_CONTROL_TEXT_BYTES];
	char path[GMT_CONTROL_PATH_BYTES]; /* path of the recording's file */
	/*
	 * The writer updates these once per round. Each value is correct by itself, but they are not
	 * all from the same moment.
	 */
	_Atomic uint32_t state;     /* enum gmt_control_state */
	_Atomic uint32_t threads;   /* number of threads that have made events so far */
	_Atomic uint64_t events;    /* number of events in the file */
	_Atomic uint64_t dropped;   /* number of events that were lost */
	_Atomic uint64_t file_bytes;
	_Atomic uint64_t snapshots; /* number of snapshots written so far */
	_Atomic uint64_t updated_ns;   /* time of the last update, CLOCK_MONOTONIC */
	/* Requests and answers. */
	_Atomic uint32_t turn;      /* enum gmt_control_turn */
	_Atomic uint32_t requester;     /* process id of the reader whose turn it is */
	uint32_t verb;              /* enum gmt_control_verb */
	uint32_t has_failed;        /* the answer is an error message */
	char argument[GMT_CONTROL_PATH_BYTES];
	char answer[GMT_CONTROL_PATH_BYTES + GMT_CONTROL_TEXT_BYTES];
};

#endif
