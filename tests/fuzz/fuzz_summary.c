/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the code behind `ranks` that reads summaries (docs/internals/summary-format.md). A summary
 * that decodes must be equal after it was encoded and decoded again. A job of two such processes,
 * one of them a rank later, must have an answer. The answer is printed for a quarter of the inputs,
 * because printing takes most of the time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/job.h"
#include "analysis/job/summary_encode.h"
#include "containers/map.h"
#include "content.h"
#include "format/encoding/little_endian.h"
#include "format/encoding/summary_format.h"
#include "format/encoding/varint.h"
#include "output.h"
#include "render/ranks.h"

enum { UNKNOWN_RECORD = 120, END_BYTES = GMT_BLOCK_HEADER_BYTES + 1 + GMT_VARINT_MAX_BYTES };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Makes the content a whole summary, as far as it has the shape of blocks: the mutator writes the
 * header of a recording, and changes the number of rows. Returns the new size. `content` has
 * END_BYTES more bytes than `size`.
 */
static size_t make_whole(uint8_t *content, size_t size)
{
	uint64_t rows = 0;
	size_t at = GMT_FILE_HEADER_BYTES;
	uint8_t *end;

	fuzz_repair(content, size);
	if (size < at)
		return size;
	gmt_summary_make_header(content);
	while (size - at >= GMT_BLOCK_HEADER_BYTES) {
		rows += gmt_get_u32(content + at + 4);
		/* A reader skips a record that it does not know. */
		if (gmt_get_u32(content + at) == GMT_RECORD_SUMMARY_END)
			gmt_put_u32(content + at, UNKNOWN_RECORD);
		at += GMT_BLOCK_HEADER_BYTES + gmt_get_u32(content + at + 8);
	}
	end = gmt_varint_put(content + at + GMT_BLOCK_HEADER_BYTES + 1, rows);
	content[at + GMT_BLOCK_HEADER_BYTES] =
		(uint8_t)(end - (content + at + GMT_BLOCK_HEADER_BYTES + 1));
	gmt_put_u32(content + at, GMT_RECORD_SUMMARY_END);
	gmt_put_u32(content + at + 4, 1);
	gmt_put_u32(content + at + 8, (uint32_t)(end - (content + at + GMT_BLOCK_HEADER_BYTES)));
	size = (size_t)(end - content);
	fuzz_repair_blocks(content + GMT_FILE_HEADER_BYTES, size - GMT_FILE_HEADER_BYTES);
	return size;
}

static void demand(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz: does not hold: %s\n", what);
	abort();
}

/* Encodes the summary, decodes it and encodes that. Both encodings must be equal. */
static void check_round_trip(struct gmt_job_store *store, const struct gmt_process_summary *summary)
{
	struct gmt_summary_bytes once = { 0 }, twice = { 0 };
	struct gmt_process_summary again = { .path = summary->path };
	struct gmt_error error = { 0 };

	demand(!gmt_summary_encode(store, summary, &once, &error), "a summary is encoded");
	demand(!gmt_summary_decode(store, once.bytes.items, once.bytes.count, &again, &error),
		"an encoded summary decodes");
	demand(!gmt_summary_encode(store, &again, &twice, &error), "it is encoded again");
	demand(once.bytes.count == twice.bytes.count &&
			memcmp(once.bytes.items, twice.bytes.items, once.bytes.count) == 0,
		"both encodings are equal");
	gmt_vec_fini(&once.bytes);
	gmt_vec_fini(&twice.bytes);
}

static void show(const struct gmt_job *job)
{
	struct gmt_ranks_view view = { .job = job, .columns = 80, .is_utf8 = true };
	struct gmt_json json = { .file = fuzz_output(FUZZ_JSON) };

	for (int full = 0; full < 2; full++) {
		view.is_full = full;
		demand(gmt_ranks_text(&view, fuzz_output(FUZZ_TEXT)), "the text is written");
		fuzz_output_end(FUZZ_TEXT);
	}
	gmt_ranks_json(&view, &json);
	fuzz_output_end(FUZZ_JSON);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gmt_job_store store = { 0 };
	struct gmt_process_summary summaries[2] = { { .path = "one" }, { .path = "two" } };
	struct gmt_error error = { 0 };
	struct gmt_job job = { 0 };
	uint8_t *content = realloc(fuzz_copy(data, size), size + END_BYTES);
	enum gmt_status status;

	demand(content, "there is memory");
	size = make_whole(content, size);
	status = gmt_summary_decode(&store, content, size, &summaries[0], &error);
	demand(!status || *error.text, "an error has a text");
	if (!status) {
		check_round_trip(&store, &summaries[0]);
		summaries[1] = summaries[0];
		summaries[1].path = "two";
		summaries[1].rank++;
		summaries[1].pid++;
		status = gmt_job_init(&job,
			&(struct gmt_job_input){ .store = &store, .summaries = summaries, .count = 2 }, &error);
		demand(!status, "there is a job");
		if (fuzz_is_thorough || (gmt_hash_bytes(content, size) & 3) == 0)
			show(&job);
		gmt_job_fini(&job);
	}
	gmt_job_store_fini(&store);
	free(content);
	return 0;
}
