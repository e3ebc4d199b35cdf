/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_RECORDING_H
#define GMT_WRITER_RECORDING_H

/*
 * The state of one recording. The session fills it in. The writer and process_metadata.c read it.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "system/file_identity.h"
#include "base/identifier.h"
#include "depot/depot.h"
#include "producer/recording_memory.h"
#include "files/output.h"
#include "writer/session.h"
#include "driver/queries.h"

enum { GMT_RECORDING_DEVICES = 64, GMT_RECORDING_NOTES = 16, GMT_RECORDING_NOTE_BYTES = 256 };

/* Notes for the user, shown in the report. A thread takes a place once and fills it. */
struct gmt_recording_notes {
	_Atomic uint32_t taken; /* also counts notes that found no free place */
	_Atomic bool is_there[GMT_RECORDING_NOTES];
	char text[GMT_RECORDING_NOTES][GMT_RECORDING_NOTE_BYTES];
};

/* The session owns it. The session outlives the writer. */
struct gmt_recording {
	struct gmt_recording_memory *area;
	struct gmt_depot *depot;
	bool has_writer;
	int fd; /* descriptor in the writer's table */
	struct gmt_file_identity file; /* the file that `fd` must refer to */
	pid_t pid;
	char path[4352];
	struct gmt_identity identity;
	char name[GMT_IDENTIFIER_BYTES]; /* random; stored in the file and in the shared memory */
	uint32_t device_count;
	struct gmt_driver_device_info devices[GMT_RECORDING_DEVICES];
	struct gmt_recording_notes notes;  /* also kept for the recording of a forked child */
	struct gmt_recording_notes faults; /* only for this recording */
	/* Set by the writer; each sink of this recording calls it (format/file/sink.h). */
	bool (*wait_for_room)(void *unused, int error_number);
	/* The disk accepts no data at present, so a thread need not wait for the writer. */
	_Atomic bool is_stalled;
	_Atomic uint64_t losses[GMT_LOSS_COUNT];
};

#endif
