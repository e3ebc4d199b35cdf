/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_PROCESS_METADATA_H
#define GMT_WRITER_PROCESS_METADATA_H

/*
 * Writes all records except events and their stacks: the process, its options and devices, the
 * loaded modules, clocks, notes, losses, and the names of functions and threads. Only the writer
 * uses it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "hooks/hooks.h"
#include "writer/recording_state.h"
#include "producer/losses.h"
#include "producer/ring.h"
#include "runtime/log.h"
#include "format/format.h"

struct gmt_process_metadata {
	struct gmt_recording_state *recording;
	/* Writes rows to the file. */
	void (*write)(void *context, uint32_t kind, const void *rows, uint32_t count);
	void *context; /* the first argument of `write` */
	uint32_t modules_written;
	bool note_written[GMT_LOG_KINDS][GMT_LOG_NOTES];
	uint64_t losses_written[GMT_LOSS_COUNT];
	bool api_written[GMT_HOOK_COUNT];
	uint64_t calls_written[GMT_HOOK_COUNT];
	uint32_t unhooked_written;
};

/* Writes the first records of the file: process, options, environment, devices, clock. */
void gmt_process_metadata_begin(struct gmt_process_metadata *metadata);

/* Writes everything new since the last call, and the time. Called before each sync point. */
void gmt_process_metadata_update(struct gmt_process_metadata *metadata);

/* Writes the last losses and calls, and the functions that were never called. */
void gmt_process_metadata_end(struct gmt_process_metadata *metadata);

/*
 * Writes the samples that have arrived since the last call. gmt_process_metadata_update does the
 * same.
 */
void gmt_process_metadata_samples(const struct gmt_process_metadata *metadata);

/* Writes the name of a function, unless it is already written. */
void gmt_process_metadata_api(struct gmt_process_metadata *metadata, uint16_t hook);

/* Writes the names of all functions, called or not. */
void gmt_process_metadata_all_apis(const struct gmt_process_metadata *metadata);

/* Writes the record of the thread that owns `ring`. */
void gmt_process_metadata_thread(const struct gmt_process_metadata *metadata,
	const struct gmt_ring *ring);

/*
 * Writes how many events were lost: `count` in total, by the thread with the id `thread` (0: no
 * particular thread).
 */
void gmt_process_metadata_write_drops(const struct gmt_process_metadata *metadata, uint32_t thread,
	const char *reason, uint64_t count);

#endif
