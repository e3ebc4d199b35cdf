/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "analysis/job/summary_encode.h"
#include "format/encoding/decode_rows.h"

/* The most rows of a block: a summary has far fewer. Bounds the work on a forged file. */
enum { MAX_DEVICES = 4096, MAX_VARIABLES = 256, MAX_ACCOUNTS = 4096, MAX_ROWS = 65536 };

struct reader {
	struct gmt_job_store *store;
	struct gmt_process_summary *summary;
	bool is_out_of_memory;
	bool has_head, has_process, has_end;
	bool has_too_many_rows;
	uint64_t rows;
};

static uint32_t text_of(struct reader *reader, const struct gmt_slice *slice)
{
	uint32_t id = gmt_job_intern_text(reader->store, slice->text, slice->length);

	reader->is_out_of_memory |= id == UINT32_MAX;
	return id;
}

static uint32_t place_of(struct reader *reader, const struct gmt_slice *file,
	const struct gmt_slice *function, uint32_t line)
{
	uint32_t place = gmt_job_intern_place(reader->store, file->text, file->length, function->text,
		function->length, line);

	reader->is_out_of_memory |= place == UINT32_MAX;
	return place;
}

/*
 * Returns bytes of one line or account. A damaged summary's sums and differences must not overflow.
 */
static uint64_t bytes_of(uint64_t bytes)
{
	const uint64_t max_bytes = (uint64_t)1 << 52; /* no machine has 4 PiB */

	return bytes < max_bytes ? bytes : max_bytes;
}

/*
 * Makes room for the rows of a block, at most `most`. A summary has one block of each kind; the
 * rows of a second one are not read.
 */
static bool make_rows(struct reader *reader, void *rows, uint32_t count, uint32_t max_count,
	size_t row_bytes)
{
	void **place = rows;

	reader->has_too_many_rows |= count > max_count;
	if (*place || count > max_count)
		return false;
	*place = gmt_arena_alloc(&reader->store->arena, count * row_bytes);
	reader->is_out_of_memory |= !*place;
	return *place;
}

static void get_process(struct reader *reader, const struct gmt_process *row)
{
	struct gmt_process_summary *summary = reader->summary;

	reader->has_process = true;
	summary->pid = row->pid;
	summary->parent_pid = row->parent_pid;
	summary->rank = row->rank;
	summary->local_rank = row->local_rank;
	summary->start_time_ns = row->start_time_ns;
	summary->host = text_of(reader, &row->host);
	summary->executable = text_of(reader, &row->executable);
	summary->command = text_of(reader, &row->command);
	summary->directory = text_of(reader, &row->directory);
	summary->recorder_version = text_of(reader, &row->recorder_version);
	summary->machine = text_of(reader, &row->machine);
	summary->recording = text_of(reader, &row->recording);
	summary->run = text_of(reader, &row->run);
}

static void get_head(struct reader *reader, const struct gmt_summary_head *row)
{
	struct gmt_process_summary *summary = reader->summary;

	reader->has_head = true;
	summary->file = text_of(reader, &row->file);
	summary->program = text_of(reader, &row->program);
	summary->file_bytes = row->file_bytes;
	summary->events = row->events;
	summary->dropped_events = row->dropped_events;
	summary->duration_ns = row->duration_ns;
	summary->is_complete = row->is_complete;
	summary->end = row->end < GMT_PROCESS_ENDS ? row->end : GMT_PROCESS_END_UNKNOWN;
	summary->damage = text_of(reader, &row->damage);
	summary->steps = row->steps;
	summary->step_source = text_of(reader, &row->step_source);
	summary->why_not_judged = text_of(reader, &row->why_not_judged);
	summary->failures = row->failures;
	summary->retries = row->retries;
	summary->finding_count = row->findings;
	summary->left_out_places = row->left_out_places;
	summary->left_out_bytes = row->left_out_bytes;
}

static void get_devices(struct reader *reader, const struct gmt_device *rows, uint32_t count)
{
	struct gmt_process_summary *summary = reader->summary;

	if (!make_rows(reader, &summary->devices, count, MAX_DEVICES, sizeof(*summary->devices)))
		return;
	for (uint32_t i = 0; i < count; i++)
		summary->devices[summary->device_count++] = (struct gmt_summarized_device){
			.ordinal = rows[i].ordinal,
			.name = text_of(reader, &rows[i].name),
			.uuid = text_of(reader, &rows[i].uuid),
			.total_bytes = rows[i].total_bytes,
		};
}

static void get_variables(struct reader *reader, const struct gmt_environment *rows, uint32_t count)
{
	struct gmt_process_summary *summary = reader->summary;

	if (!make_rows(reader, &summary->variables, count, MAX_VARIABLES, sizeof(*summary->variables)))
		return;
	for (uint32_t i = 0; i < count; i++)
		summary->variables[summary->variable_count++] = (struct gmt_summarized_variable){
			.name = text_of(reader, &rows[i].name),
			.value = text_of(reader, &rows[i].value),
		};
}

static void get_accounts(struct reader *reader, const struct gmt_summary_account *rows,
	uint32_t count)
{
	struct gmt_process_summary *summary = reader->summary;

	if (!make_rows(reader, &summary->accounts, count, MAX_ACCOUNTS, sizeof(*summary->accounts)))
		return;
	for (uint32_t i = 0; i < count; i++)
		summary->accounts[summary->account_count++] = (struct gmt_summarized_account){
			.layer = rows[i].layer,
			.device = rows[i].device,
			.peak_bytes = bytes_of(rows[i].peak_bytes),
			.peak_blocks = rows[i].peak_blocks,
			.peak_time_ns = rows[i].peak_time_ns,
			.has_step = rows[i].peak_step_plus_1,
			.peak_step = (uint32_t)(rows[i].peak_step_plus_1 ? rows[i].peak_step_plus_1 - 1 : 0),
			.peak_phase = text_of(reader, &rows[i].peak_phase),
			.end_bytes = rows[i].end_bytes,
			.end_blocks = rows[i].end_blocks,
			.alloc_count = rows[i].alloc_count,
			.total_bytes = rows[i].total_bytes,
			.has_reserved = rows[i].has_reserved,
			.reserved_peak_bytes = rows[i].reserved_peak_bytes,
			.reserved_end_bytes = rows[i].reserved_end_bytes,
		};
}

static void get_steps(struct reader *reader, const struct gmt_summary_steps *rows, uint32_t count)
{
	struct gmt_process_summary *summary = reader->summary;

	if (!make_rows(reader, &summary->step_curve, count, MAX_ROWS, sizeof(*summary->step_curve)))
		return;
	for (uint32_t i = 0; i < count; i++)
		summary->step_curve[summary->step_count++] =
			(struct gmt_summarized_steps){ rows[i].first_step, rows[i].end_time_ns,
				rows[i].peak_bytes, rows[i].end_bytes };
}

static void get_times(struct reader *reader, const struct gmt_summary_times *rows, uint32_t count)
{
	struct gmt_process_summary *summary = reader->summary;

	if (!make_rows(reader, &summary->time_curve, count, MAX_ROWS, sizeof(*summary->time_curve)))
		return;
	for (uint32_t i = 0; i < count; i++)
		summary->time_curve[summary->time_count++] =
			(struct gmt_summarized_time){ rows[i].end_time_ns, rows[i].peak_bytes,
				rows[i].end_bytes };
}

static void get_uses(struct reader *reader, const struct gmt_summary_use *rows, uint32_t count)
{
	struct gmt_process_summary *summary = reader->summary;

	if (!make_rows(reader, &summary->uses, count, MAX_ACCOUNTS, sizeof(*summary->uses)))
		return;
	for (uint32_t i = 0; i < count; i++)
		summary->uses[summary->use_count++] = (struct gmt_summarized_use){
			.device = rows[i].device,
			.is_peak = rows[i].is_peak,
			.time_ns = rows[i].time_ns,
			.used_bytes = rows[i].used_bytes,
			.total_bytes = rows[i].total_bytes,
			.has_others = rows[i].has_others,
			.others_bytes = rows[i].others_bytes,
			.unexplained_bytes = rows[i].unexplained_bytes,
		};
}

static void get_places(struct reader *reader, const struct gmt_summary_place *rows, uint32_t count)
{
	struct gmt_process_summary *summary = reader->summary;

	if (!make_rows(reader, &summary->places, count, MAX_ROWS, sizeof(*summary->places)))
		return;
	for (uint32_t i = 0; i < count; i++)
		summary->places[summary->place_count++] = (struct gmt_summarized_place){
			.place = place_of(reader, &rows[i].file, &rows[i].function, rows[i].line),
			.sites = rows[i].sites,
			.layer = rows[i].layer,
			.device = rows[i].device,
			.peak_bytes = bytes_of(rows[i].peak_bytes),
			.peak_blocks = rows[i].peak_blocks,
			.end_bytes = bytes_of(rows[i].end_bytes),
			.end_blocks = rows[i].end_blocks,
			.total_bytes = rows[i].total_bytes,
		};
	gmt_process_summary_sort(summary);
}

static void get_findings(struct reader *reader, const struct gmt_summary_finding *rows,
	uint32_t count)
{
	struct gmt_process_summary *summary = reader->summary;

	if (!make_rows(reader, &summary->findings, count, MAX_ROWS, sizeof(*summary->findings)))
		return;
	for (uint32_t i = 0; i < count; i++)
		summary->findings[summary->findings_kept++] = (struct gmt_summarized_finding){
			.definition = text_of(reader, &rows[i].definition),
			.hint = text_of(reader, &rows[i].hint),
			.place = place_of(reader, &rows[i].file, &rows[i].function, rows[i].line),
			.layer = rows[i].layer,
			.device = rows[i].device,
			.bytes = rows[i].bytes,
			.blocks = rows[i].blocks,
			.has_rate = rows[i].has_rate,
			.step_bytes = rows[i].step_bytes,
			.confidence_ppm = rows[i].confidence_ppm,
			.has_step = rows[i].has_step,
			.first_step = rows[i].first_step,
			.first_time_ns = rows[i].first_time_ns,
			.steps = rows[i].steps,
		};
}

static void get_refusals(struct reader *reader, const struct gmt_summary_refusal *rows,
	uint32_t count)
{
	struct gmt_process_summary *summary = reader->summary;

	if (!make_rows(reader, &summary->refusals, count, MAX_ROWS, sizeof(*summary->refusals)))
		return;
	for (uint32_t i = 0; i < count; i++)
		summary->refusals[summary->refusal_count++] = (struct gmt_summarized_refusal){
			.time_ns = rows[i].time_ns,
			.has_step = rows[i].step_plus_1,
			.step = (uint32_t)(rows[i].step_plus_1 ? rows[i].step_plus_1 - 1 : 0),
			.layer = rows[i].layer,
			.device = rows[i].device,
			.requested_bytes = rows[i].requested_bytes,
			.is_recovered = rows[i].is_recovered,
			.has_driver = rows[i].has_driver,
			.free_bytes = rows[i].free_bytes,
			.device_bytes = rows[i].device_bytes,
			.live_bytes = rows[i].live_bytes,
			.cuda_bytes = rows[i].cuda_bytes,
			.place = place_of(reader, &rows[i].file, &rows[i].function, rows[i].line),
		};
}

static void get_rows(struct reader *reader, uint32_t kind, const void *rows, uint32_t count)
{
	switch (kind) {
	case GMT_RECORD_SUMMARY_HEAD:
		get_head(reader, rows);
		break;
	case GMT_RECORD_PROCESS:
		get_process(reader, rows);
		break;
	case GMT_RECORD_DEVICE:
		get_devices(reader, rows, count);
		break;
	case GMT_RECORD_ENVIRONMENT:
		get_variables(reader, rows, count);
		break;
	case GMT_RECORD_SUMMARY_ACCOUNT:
		get_accounts(reader, rows, count);
		break;
	case GMT_RECORD_SUMMARY_STEPS:
		get_steps(reader, rows, count);
		break;
	case GMT_RECORD_SUMMARY_TIMES:
		get_times(reader, rows, count);
		break;
	case GMT_RECORD_SUMMARY_USE:
		get_uses(reader, rows, count);
		break;
	case GMT_RECORD_SUMMARY_PLACE:
		get_places(reader, rows, count);
		break;
	case GMT_RECORD_SUMMARY_FINDING:
		get_findings(reader, rows, count);
		break;
	case GMT_RECORD_SUMMARY_REFUSAL:
		get_refusals(reader, rows, count);
		break;
	case GMT_RECORD_SUMMARY_END:
		reader->has_end = ((const struct gmt_summary_end *)rows)->rows == reader->rows;
		break;
	}
}

/* Reads the blocks. Returns false if one is damaged or cannot be decoded. */
static bool read_blocks(struct reader *reader, struct gmt_decoder *decoder, const uint8_t *at,
	size_t left)
{
	while (left && !reader->has_end && !reader->is_out_of_memory) {
		struct gmt_block block;
		size_t length = gmt_block_read(at, left, &block);
		const struct gmt_record_info *record;
		const void *rows;
		enum gmt_status status;

		if (!length)
			return false;
		record = gmt_summary_record_info(block.kind);
		if (record) {
			status = gmt_decode_record(decoder, record, &block, &rows, NULL);
			reader->is_out_of_memory |= status == GMT_NO_MEMORY;
			if (status)
				return false;
			get_rows(reader, block.kind, rows, block.rows);
		}
		reader->rows += block.rows;
		at += length;
		left -= length;
	}
	return true;
}

enum gmt_status gmt_summary_decode(struct gmt_job_store *store, const uint8_t *bytes, size_t length,
	struct gmt_process_summary *ret_summary, struct gmt_error *error)
{
	struct reader reader = { .store = store, .summary = ret_summary };
	struct gmt_decoder decoder = { 0 };
	unsigned major;
	bool is_whole;

	if (length < GMT_FILE_HEADER_BYTES)
		return gmt_error_set(error, GMT_FORMAT, "cannot be read: it is cut");
	switch (gmt_summary_read_header(bytes, &major)) {
	case GMT_SUMMARY_HEADER_NONE:
		return gmt_error_set(error, GMT_FORMAT, "cannot be read: it is no summary");
	case GMT_SUMMARY_HEADER_NEWER:
		return gmt_error_set(error, GMT_VERSION,
			"is a summary of format version %u; this program reads version %d: use a newer "
			"gpumemtrace",
			major, GMT_SUMMARY_MAJOR);
	case GMT_SUMMARY_HEADER_OK:
		break;
	}
	is_whole = read_blocks(&reader, &decoder, bytes + GMT_FILE_HEADER_BYTES,
		length - GMT_FILE_HEADER_BYTES);
	gmt_decoder_fini(&decoder);
	if (reader.is_out_of_memory)
		return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	if (!is_whole || !reader.has_head || !reader.has_process || !reader.has_end ||
		reader.has_too_many_rows)
		return gmt_error_set(error, GMT_FORMAT,
			"cannot be read: the summary is cut or damaged; write it again with `gpumemtrace "
			"summarize`");
	return GMT_OK;
}
