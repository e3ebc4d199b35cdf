/* SPDX-License-Identifier: MIT */
#ifndef GMT_RECORD_WRITER_H
#define GMT_RECORD_WRITER_H

/*
 * The thread that empties the rings into the file. In the flow: ring -> writer -> encode -> sink.
 * It sleeps until a ring is half full or a quarter of a second has passed, blocks all signals, uses
 * no memory of the host's heap, and makes the file readable up to now (a sync point) at least once a
 * second and once a mebibyte.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/depot.h"
#include "record/area.h"
#include "record/output.h"
#include "record/session.h"
#include "routes/driver.h"

enum { GMT_WRITER_DEVICES = 64, GMT_WRITER_NOTES = 16, GMT_WRITER_NOTE_BYTES = 256 };

/* What the writer reads of its session; the session outlives it. */
struct gmt_writer_input {
	struct gmt_area *area;
	struct gmt_depot *depot;
	int fd;
	pid_t pid;
	char path[4352];
	struct gmt_identity identity;
	uint32_t device_count;
	struct gmt_driver_device_info devices[GMT_WRITER_DEVICES];
	_Atomic uint32_t note_count;
	char notes[GMT_WRITER_NOTES][GMT_WRITER_NOTE_BYTES];
	_Atomic uint64_t losses[GMT_LOSS_COUNT];
};

/* What the writer tells, from its own thread. */
struct gmt_writer_listener {
	void (*failed)(void);     /* the file can no longer be written */
	void (*before_sync)(void); /* a sync point is near: a good moment for rare work; may be NULL */
};

/* Starts the thread. False when it cannot be made. */
bool gmt_writer_start(struct gmt_writer_input *input, struct gmt_writer_listener listener);

/* A ring wants to be emptied soon. Any thread; one system call. */
void gmt_writer_wake(void);

/* Tells the writer to empty everything and end the file; waits for it, but not for ever. */
void gmt_writer_stop(void);

#endif
