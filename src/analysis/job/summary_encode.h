/* SPDX-License-Identifier: MIT */
#ifndef GMT_ANALYSIS_JOB_SUMMARY_ENCODE_H
#define GMT_ANALYSIS_JOB_SUMMARY_ENCODE_H

/*
 * Encodes a process summary as bytes, and decodes it (docs/internals/summary-format.md). The bytes
 * are not compressed. Decoding an encoded summary gives an equal summary.
 */

#include "analysis/job/process_summary.h"
#include "base/status.h"
#include "containers/vec.h"

struct gmt_summary_bytes {
	GMT_VEC(uint8_t) bytes;
};

/*
 * Appends the encoded summary to `ret_bytes`, which the caller frees with gmt_vec_fini. `store`
 * holds the summary's texts. Fails only for lack of memory.
 */
enum gmt_status gmt_summary_encode(const struct gmt_job_store *store,
	const struct gmt_process_summary *summary, struct gmt_summary_bytes *ret_bytes,
	struct gmt_error *error);

/*
 * Decodes a summary into `ret_summary`, which must be zeroed, and its texts into `store`. Errors:
 * GMT_FORMAT if the bytes are no summary, are cut off or damaged; GMT_VERSION if they have a later
 * major version; GMT_NO_MEMORY. The error text does not name the file.
 */
enum gmt_status gmt_summary_decode(struct gmt_job_store *store, const uint8_t *bytes, size_t length,
	struct gmt_process_summary *ret_summary, struct gmt_error *error);

#endif
