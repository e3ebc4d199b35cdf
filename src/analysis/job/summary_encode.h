/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_JOB_SUMMARY_ENCODE_H
#define GMT_ANALYSIS_JOB_SUMMARY_ENCODE_H

/*
 * Summaries as bytes and back (docs/internals/summary-format.md), before compression. A summary
 * that was encoded and decoded is equal to the first one.
 */

#include "analysis/job/process_summary.h"
#include "base/status.h"
#include "containers/vec.h"

struct gmt_summary_bytes {
	GMT_VEC(uint8_t) bytes;
};

/*
 * Appends the summary to `ret_bytes`, which the caller ends with gmt_vec_fini. Fails only for lack
 * of memory.
 */
enum gmt_status gmt_summary_encode(const struct gmt_job_store *store,
	const struct gmt_process_summary *summary, struct gmt_summary_bytes *ret_bytes,
	struct gmt_error *error);

/*
 * Reads a summary into the store. Fails with GMT_FORMAT if the bytes are no summary, are cut or
 * damaged, with GMT_VERSION if they are of a later major version, and with GMT_NO_MEMORY. The error
 * text does not name the file. `ret_summary` is zeroed.
 */
enum gmt_status gmt_summary_decode(struct gmt_job_store *store, const uint8_t *bytes, size_t length,
	struct gmt_process_summary *ret_summary, struct gmt_error *error);

#endif
