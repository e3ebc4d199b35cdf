/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_RECORDING_STATE_H
#define GMT_WRITER_RECORDING_STATE_H

/*
 * The state of one recording. The session fills it in. The writer and process_metadata.c read it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "system/file_identity.h"
#include "base/uuid.h"
#include "depot/depot.h"
#include "producer/recording_memory.h"
#include "files/output_name.h"
#include "driver/driver_queries.h"

enum { GMT_RECORDING_DEVICES = 64 };

/* The session owns it. The session outlives the writer. */
struct gmt_recording_state {
	struct gmt_recording_memory *memory;
	struct gmt_depot *depot;
	bool has_writer;
	int fd; /* descriptor in the writer's table */
	struct gmt_file_identity file; /* the file that `fd` must refer to */
	pid_t pid;
	char path[4352];
	struct gmt_output_identity identity;
	char name[GMT_UUID_BYTES]; /* random; stored in the file and in the shared memory */
	uint32_t device_count;
	struct gmt_driver_device_info devices[GMT_RECORDING_DEVICES];
	/* Set by the writer; each sink of this recording calls it (format/file/sink.h). */
	bool (*wait_for_room)(void *unused, int error_number);
};

#endif
