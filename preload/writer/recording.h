/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_RECORDING_H
#define GMT_WRITER_RECORDING_H

/* What one recording has and knows: the session fills it in, the writer and process_metadata.c read it. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "system/file_identity.h"
#include "base/identifier.h"
#include "depot/depot.h"
#include "producer/recording_memory.h"
#include "writer/output.h"
#include "writer/session.h"
#include "interpose/driver.h"

enum { GMT_RECORDING_DEVICES = 64, GMT_RECORDING_NOTES = 16, GMT_RECORDING_NOTE_BYTES = 256 };

/* Lines for the report's reader. Each place is taken once, and filled by the thread that took it. */
struct gmt_recording_notes {
	_Atomic uint32_t taken; /* also those that found no place */
	_Atomic bool is_there[GMT_RECORDING_NOTES];
	char text[GMT_RECORDING_NOTES][GMT_RECORDING_NOTE_BYTES];
};

/* Made by the session, which outlives the writer. */
struct gmt_recording {
	struct gmt_recording_memory *area;
	struct gmt_depot *depot;
	bool has_writer;
	int fd; /* the writer's */
	struct gmt_file_identity file; /* what `fd` means */
	pid_t pid;
	char path[4352];
	struct gmt_identity identity;
	char name[GMT_IDENTIFIER_BYTES]; /* random; the file and the shared memory have it */
	uint32_t device_count;
	struct gmt_driver_device_info devices[GMT_RECORDING_DEVICES];
	struct gmt_recording_notes notes;  /* kept for a child's recording */
	struct gmt_recording_notes faults; /* of this recording alone */
	bool (*wait_for_room)(void *unused, int error_number); /* the writer's, for each sink of its (format/file/sink.h) */
	_Atomic bool is_stalled; /* the disk takes nothing at present: there is no sense in waiting for the writer */
	_Atomic uint64_t losses[GMT_LOSS_COUNT];
};

#endif
