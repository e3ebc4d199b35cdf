/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RECOVER_H
#define GMT_TOOLS_RECORDINGS_RECOVER_H

/*
 * Completes a file from the shared memory of its killed recorder, for the verb `recover`, and for
 * `run` after the program's end. "The memory" below is this shared-memory recording.
 *
 * The content of the memory is not trusted. The memory has the name of its file. But a file is
 * replaced only if it belongs to the caller and is a recording of the same process: its first
 * record has the same random name, process, host and start time. If the name comes from the memory,
 * the name must lead to the same file that the process wrote. Its path must have no links, and only
 * the caller and root may change its folders. See docs/internals/shared-recordings.md, "Whose it
 * is".
 */

#include <stdbool.h>

#include "tools/recordings/complete_recording.h"
#include "shared_memory/shared_recording_reader.h"

enum gmt_recover_state {
	GMT_RECOVER_COMPLETED, /* completed; in a dry run: would be completed */
	GMT_RECOVER_IS_WHOLE,  /* the file was already complete; the memory is removed */
	GMT_RECOVER_IN_PROGRESS,   /* the process is still recording */
	GMT_RECOVER_IS_GONE,   /* the file is gone, and the caller named no other file */
	/* the memory is from before a restart of this machine, or from another machine */
	GMT_RECOVER_IS_UNUSABLE,
	/* IS_GONE or IS_UNUSABLE, and the memory was removed; in a dry run: would be removed */
	GMT_RECOVER_IS_DISCARDED,
	GMT_RECOVER_IS_REFUSED,
	/* this machine has no memory for the file; `has_end`: the file is complete */
	GMT_RECOVER_NOTHING,
	GMT_RECOVER_FAILED,
};

struct gmt_recover_options {
	bool keep;    /* do not remove the memory */
	bool discard; /* remove memory whose file is gone or that cannot be used */
	bool is_dry_run;  /* change nothing */
	bool force;   /* `output` may be an existing recording, which is replaced */
	const char *output; /* write to this file; NULL: complete the file in place */
};

struct gmt_recover_outcome {
	enum gmt_recover_state state;
	uint32_t pid; /* process id; 0: not known */
	/* the written file, or the file that was to be written; "": not known */
	char path[GMT_SHARED_RECORDING_PATH_BYTES];
	char memory[PATH_MAX]; /* path of the memory; "": no memory */
	uint64_t memory_bytes;
	bool has_end;          /* for GMT_RECOVER_NOTHING: the file has its end record */
	bool is_not_removed;   /* removing the memory failed */
	struct gmt_completed completed;
	/* one line without file names; set for IS_REFUSED, FAILED and IS_UNUSABLE */
	struct gmt_error error;
};

/* Recovers the file whose name is in the memory. `shared_recording` is borrowed. */
void gmt_recover_memory(struct gmt_shared_recording *shared_recording,
	const struct gmt_recover_options *options, struct gmt_recover_outcome *ret_outcome);

/* Recovers the file that the user named. */
void gmt_recover_file(const char *path, const struct gmt_recover_options *options,
	struct gmt_recover_outcome *ret_outcome);

#endif
