/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_JOB_PROCESS_SUMMARY_H
#define GMT_ANALYSIS_JOB_PROCESS_SUMMARY_H

/*
 * The summary of one process, for `ranks`. It is made from a recording (process_summary_make.h), or
 * read from a summary file (summary_encode.h). Both give the same numbers. All summaries of a job
 * share one store, so equal texts and lines are stored once and have one number. In the flow:
 * recording or summary file -> process summary -> job.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/arena.h"
#include "containers/intern.h"
#include "format/encoding/summary_format.h"

enum {
	GMT_SUMMARY_STEPS = 128,   /* most rows of the curve by steps */
	GMT_SUMMARY_TIMES = 64,    /* most rows of the curve by time */
	GMT_SUMMARY_PLACES = 512,  /* most lines */
	GMT_SUMMARY_FINDINGS = 16, /* most findings */
};

/* A line of the program. Its texts are ids in the store's `texts`. */
struct gmt_job_place {
	uint32_t file, function; /* the empty text: not known */
	uint32_t line;           /* 0: not known */
};

/* Owns all that is reached from the summaries. Zero-initialise; one thread. */
struct gmt_job_store {
	struct gmt_arena arena;
	struct gmt_intern texts;
	struct gmt_intern places; /* struct gmt_job_place */
};

struct gmt_summarized_account {
	uint8_t layer;
	bool has_reserved;
	bool has_step; /* `peak_step` is known */
	int16_t device;
	uint32_t peak_step;
	uint32_t peak_phase; /* text */
	uint64_t peak_bytes, peak_blocks, peak_time_ns;
	uint64_t end_bytes, end_blocks;
	uint64_t alloc_count, total_bytes;
	uint64_t reserved_peak_bytes, reserved_end_bytes;
};

struct gmt_summarized_steps {
	uint32_t first_step; /* the row ends where the next one begins */
	uint64_t end_time_ns, peak_bytes, end_bytes;
};

struct gmt_summarized_time {
	uint64_t end_time_ns, peak_bytes, end_bytes;
};

struct gmt_summarized_place {
	uint32_t place;
	uint32_t sites;
	uint8_t layer;
	int16_t device;
	uint64_t peak_bytes, peak_blocks, end_bytes, end_blocks, total_bytes;
};

struct gmt_summarized_finding {
	uint32_t definition, hint; /* texts */
	uint32_t place;
	uint8_t layer;
	bool has_rate, has_step;
	int16_t device;
	uint32_t confidence_ppm; /* 0: not known */
	uint32_t first_step, steps;
	uint64_t bytes, blocks, step_bytes, first_time_ns;
};

struct gmt_summarized_refusal {
	uint64_t time_ns;
	bool has_step, is_recovered, has_driver;
	uint8_t layer;
	int16_t device;
	uint32_t step, place;
	uint64_t requested_bytes, free_bytes, device_bytes, live_bytes, cuda_bytes;
};

struct gmt_summarized_use {
	int16_t device;
	bool is_peak, has_others;
	uint64_t time_ns, used_bytes, total_bytes, others_bytes;
	int64_t unexplained_bytes;
};

struct gmt_summarized_device {
	uint32_t ordinal, name, uuid; /* the last two are texts */
	uint64_t total_bytes;
};

/* A variable of the launcher; both are texts. */
struct gmt_summarized_variable {
	uint32_t name, value;
};

/* Arrays lie in the store's arena. Texts are numbers. */
struct gmt_process_summary {
	const char *path; /* the file that was read; borrowed */
	uint32_t host, executable, command, directory, recorder_version, machine, recording, run;
	uint32_t pid, parent_pid;
	int32_t rank, local_rank; /* -1: none */
	uint64_t start_time_ns;   /* of the Unix epoch */

	uint32_t file, program, damage, step_source, why_not_judged;
	uint64_t file_bytes, events, dropped_events, duration_ns;
	bool is_complete;
	uint8_t end; /* enum gmt_process_end */
	uint64_t steps, failures, retries, finding_count, left_out_places, left_out_bytes;

	/* The first account is the one that the curves are about. None: nothing was allocated. */
	struct gmt_summarized_account *accounts;
	struct gmt_summarized_steps *step_curve;
	struct gmt_summarized_time *time_curve;
	struct gmt_summarized_place *places; /* sorted by place, layer and device */
	struct gmt_summarized_finding *findings;
	struct gmt_summarized_refusal *refusals;
	struct gmt_summarized_use *uses;
	struct gmt_summarized_device *devices;
	struct gmt_summarized_variable *variables;
	uint32_t account_count, step_count, time_count, place_count, findings_kept, refusal_count,
		use_count, device_count, variable_count;
};

/*
 * Stores a text, up to a NUL in it, unless it is stored. Returns its number; UINT32_MAX: out of
 * memory.
 */
uint32_t gmt_job_intern_text(struct gmt_job_store *store, const char *text, size_t length);

/* Returns the text of a number, with a NUL. */
const char *gmt_job_text_of(const struct gmt_job_store *store, uint32_t text);

/* Stores a line, unless it is stored. Returns its number; UINT32_MAX: out of memory. */
uint32_t gmt_job_intern_place(struct gmt_job_store *store, const char *file, size_t file_length,
	const char *function, size_t function_length, uint32_t line);

const struct gmt_job_place *gmt_job_place_of(const struct gmt_job_store *store, uint32_t place);

/* Sorts the places of a summary. */
void gmt_process_summary_sort(struct gmt_process_summary *summary);

/* Returns the value of a launcher's variable; "": not set. */
const char *gmt_process_variable(const struct gmt_job_store *store,
	const struct gmt_process_summary *summary, const char *name);

/* Returns the first account, or NULL if the process allocated nothing. */
static inline const struct gmt_summarized_account *gmt_process_account(
	const struct gmt_process_summary *summary)
{
	return summary->account_count ? summary->accounts : NULL;
}

void gmt_job_store_fini(struct gmt_job_store *store);

#endif
