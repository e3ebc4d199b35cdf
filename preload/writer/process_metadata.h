/* SPDX-License-Identifier: MIT */
#ifndef GMT_WRITER_PROCESS_METADATA_H
#define GMT_WRITER_PROCESS_METADATA_H

/*
 * What the file says besides events and their stacks: the process, its options and devices, the loaded
 * modules, clocks, notes, losses, names of functions and threads. Used by the writer alone.
 */

#include <stdbool.h>
#include <stdint.h>

#include "hooks/hooks.h"
#include "writer/recording.h"
#include "producer/ring.h"
#include "format/format.h"

struct gmt_process_metadata {
	struct gmt_recording *recording;
	/* Puts rows into the file. */
	void (*write)(void *context, uint32_t kind, const void *rows, uint32_t count);
	void *context; /* handed to it */
	uint32_t modules_written;
	bool note_written[GMT_RECORDING_NOTES];
	bool fault_written[GMT_RECORDING_NOTES];
	uint64_t losses_written[GMT_LOSS_COUNT];
	bool api_written[GMT_HOOK_COUNT];
	uint64_t calls_written[GMT_HOOK_COUNT];
	uint32_t unhooked_written;
};

/* What is known at the start; the file's first records. */
void gmt_process_metadata_begin(struct gmt_process_metadata *facts);

/* What is new since the last time, and the time itself. Before each sync point. */
void gmt_process_metadata_update(struct gmt_process_metadata *facts);

/* What is known only at the end: which functions were never called. */
void gmt_process_metadata_end(struct gmt_process_metadata *facts);

/* What the sampler was told since the last time; gmt_process_metadata_update does that too. */
void gmt_process_metadata_samples(const struct gmt_process_metadata *facts);

/* The name of a function, when it is met for the first time. */
void gmt_process_metadata_api(struct gmt_process_metadata *facts, uint16_t hook);

/* The names of all functions, met or not. */
void gmt_process_metadata_all_apis(const struct gmt_process_metadata *facts);

/* The thread that has this ring. */
void gmt_process_metadata_thread(const struct gmt_process_metadata *facts, const struct gmt_ring *ring);

/* Events that were lost: `count` in all, by the thread of that id (0: none). */
void gmt_process_metadata_drop(const struct gmt_process_metadata *facts, uint32_t thread, const char *reason, uint64_t count);

#endif
