/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_LIVE_LIVE_TARGET_H
#define GMT_TOOLS_LIVE_LIVE_TARGET_H

/*
 * A recording that `top` shows. Follows the file while the process records. Begins again if another
 * file has taken the name. Reads the shared memory of a killed process. In the flow: process or
 * file -> live_target -> render/live. For one thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "analysis/live/live_view.h"
#include "render/live/live.h"
#include "shared_memory/control_page.h"

struct gmt_shared_recording;

struct gmt_live_target {
	char path[GMT_CONTROL_PATH_BYTES]; /* of the recording */
	uint32_t pid;       /* 0: not known */
	bool is_running;    /* the process still records */
	bool is_listed;     /* used by gmt_live_targets_find */
	const char *state;  /* see struct gmt_live_process */
	struct gmt_error error;  /* why the recording cannot be shown; "": it can */
	struct gmt_error damage; /* why only a part of the file can be read; "": all can */
	struct gmt_follow *follow; /* NULL: nothing was read yet */
	struct gmt_live_names names;
	struct gmt_live_view view;
	bool has_view;      /* `view` is valid */
	bool is_up_to_date; /* the whole present content of the file was read */
	size_t unnamed_sites; /* sites whose line is not known yet */

	/* Private. */
	struct gmt_shared_recording *shared_recording;
	bool has_late_events;     /* an event was written after events of a later time */
	uint64_t next_restart_ns; /* not before, for late events; CLOCK_MONOTONIC */
};

/*
 * Reads the new content of the recording, at most about `max_bytes` of its file, and makes the
 * view. Looks up the lines of at most `max_names` sites, because that may take long. Failures are
 * in target->error.
 */
void gmt_live_target_update(struct gmt_live_target *target, const struct gmt_live_choice *choice,
	const struct gmt_traces_options *traces, uint64_t max_bytes, size_t max_names);

/*
 * Returns the input of the renderers. The target must have a view, from which the result borrows.
 */
struct gmt_live_process gmt_live_target_process(const struct gmt_live_target *target,
	const struct gmt_live_choice *choice);

/* Ends the target, but does not free the structure. */
void gmt_live_target_fini(struct gmt_live_target *target);

struct gmt_live_targets { /* layout of a GMT_VEC */
	struct gmt_live_target **items;
	size_t count, capacity;
};

/*
 * Adds the user's processes that began to record since the last call, and removes the processes
 * that have ended. Returns false when out of memory.
 */
bool gmt_live_targets_find(struct gmt_live_targets *targets);

/*
 * Adds the recording that an operand names: a process id, or a file. Returns 0, or an exit code
 * after an error message.
 */
int gmt_live_targets_add(struct gmt_live_targets *targets, const char *operand);

void gmt_live_targets_fini(struct gmt_live_targets *targets);

#endif
