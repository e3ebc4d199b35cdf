/* SPDX-License-Identifier: MIT */
#ifndef GMT_TOOLS_RECORDINGS_RECOVER_H
#define GMT_TOOLS_RECORDINGS_RECOVER_H

/*
 * Completes one file from the memory of its killed recorder; for the verb `recover`, and for `run` when the program has ended.
 *
 * The memory is not believed. It says which file it belongs to, but a file is replaced only when it is the caller's own, is a
 * recording of that very process (its first record has the same random name, process, host and start), and, if the name came
 * from the memory, when the name leads to the very file that the process wrote, without links and through folders that nobody
 * else may change. docs/internals/shared-recordings.md, "Whose it is".
 */

#include <stdbool.h>

#include "tools/recordings/complete.h"
#include "shared_memory/shared_recording_file.h"

enum gmt_recover_state {
	GMT_RECOVER_COMPLETED, /* or would be, if this is a dry run */
	GMT_RECOVER_IS_WHOLE,  /* the file had its end already; the memory is removed */
	GMT_RECOVER_GOES_ON,   /* the process still records */
	GMT_RECOVER_IS_GONE,   /* the file is gone, and no other was named */
	GMT_RECOVER_IS_USELESS, /* the memory is of before a restart of the machine */
	GMT_RECOVER_IS_DISCARDED, /* one of the last two, and the memory was removed, or would be */
	GMT_RECOVER_IS_REFUSED,
	GMT_RECOVER_NOTHING,   /* the file has no memory here; `has_end` says whether it needs any */
	GMT_RECOVER_FAILED,
};

struct gmt_recover_options {
	bool keep;    /* leave the memory where it is */
	bool discard; /* remove memory that has no file, or cannot be used */
	bool is_dry;  /* change nothing */
	bool force;   /* `output` may be a recording, which is replaced */
	const char *output; /* write to this file, not in place; NULL: in place */
};

struct gmt_recover_outcome {
	enum gmt_recover_state state;
	uint32_t pid; /* of the process; 0: not known */
	char path[GMT_SHARED_RECORDING_PATH_BYTES]; /* the file that was written, or is meant; "" where that is not known */
	char memory[PATH_MAX]; /* "": there is none */
	uint64_t memory_bytes;
	bool has_end;          /* of GMT_RECOVER_NOTHING: the file ended in order */
	bool is_not_removed;   /* the memory should have been removed, but could not be */
	struct gmt_completed completed;
	struct gmt_error error; /* of REFUSED and FAILED, and why it is USELESS: one line without the names */
};

/* Recovers by memory, which stays the caller's. The name of the file comes from the memory. */
void gmt_recover_memory(struct gmt_shared_recording *shared_recording, const struct gmt_recover_options *options,
	struct gmt_recover_outcome *ret_outcome);

/* Recovers the file that the user named. */
void gmt_recover_file(const char *path, const struct gmt_recover_options *options, struct gmt_recover_outcome *ret_outcome);

#endif
