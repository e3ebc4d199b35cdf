/* SPDX-License-Identifier: MIT */
#include "analysis/job/summary_encode.h"

#include <string.h>

#include "format/encoding/encode_rows.h"

struct writer {
	const struct gmt_job_store *store;
	const struct gmt_process_summary *summary;
	struct gmt_encoder encoder;
	struct gmt_summary_bytes *to;
	struct gmt_error *error;
	GMT_VEC(char) rows; /* of one record */
	uint64_t row_count; /* of all records so far */
	enum gmt_status status;
};

static struct gmt_slice text_of(const struct writer *writer, uint32_t text)
{
	const char *bytes = gmt_job_text_of(writer->store, text);

	return (struct gmt_slice){ bytes, (uint32_t)strlen(bytes) };
}

/* Returns zeroed rows to fill in, or NULL if there are none or memory is exhausted. */
static void *begin_rows(struct writer *writer, uint32_t kind, uint32_t count)
{
	size_t bytes = (size_t)count * gmt_summary_record_info(kind)->row_bytes;

	if (!count || writer->status)
		return NULL;
	writer->rows.count = 0;
	if (!gmt_vec_reserve(&writer->rows, bytes)) {
		writer->status = gmt_error_set(writer->error, GMT_NO_MEMORY, "out of memory");
		return NULL;
	}
	memset(writer->rows.items, 0, bytes);
	return writer->rows.items;
}

static void append(struct writer *writer, const void *bytes, size_t length)
{
	if (!gmt_vec_reserve(&writer->to->bytes, length)) {
		writer->status = gmt_error_set(writer->error, GMT_NO_MEMORY, "out of memory");
		return;
	}
	memcpy(writer->to->bytes.items + writer->to->bytes.count, bytes, length);
	writer->to->bytes.count += length;
}

static void put_rows(struct writer *writer, uint32_t kind, const void *rows, uint32_t count)
{
	if (!count || writer->status)
		return;
	writer->status = gmt_encode_record(&writer->encoder, gmt_summary_record_info(kind), rows, count,
		writer->error);
	if (!writer->status)
		append(writer, writer->encoder.block.items, writer->encoder.block.count);
	writer->row_count += count;
}

static void put_process(struct writer *writer)
{
	const struct gmt_process_summary *summary = writer->summary;
	const struct gmt_process row = {
		.pid = summary->pid,
		.parent_pid = summary->parent_pid,
		.rank = summary->rank,
		.local_rank = summary->local_rank,
		.start_time_ns = summary->start_time_ns,
		.host = text_of(writer, summary->host),
		.executable = text_of(writer, summary->executable),
		.command = text_of(writer, summary->command),
		.directory = text_of(writer, summary->directory),
		.recorder_version = text_of(writer, summary->recorder_version),
		.machine = text_of(writer, summary->machine),
		.recording = text_of(writer, summary->recording),
		.run = text_of(writer, summary->run),
	};

	put_rows(writer, GMT_RECORD_PROCESS, &row, 1);
}

static void put_head(struct writer *writer)
{
	const struct gmt_process_summary *summary = writer->summary;
	const struct gmt_summary_head row = {
		.file = text_of(writer, summary->file),
		.program = text_of(writer, summary->program),
		.file_bytes = summary->file_bytes,
		.events = summary->events,
		.dropped_events = summary->dropped_events,
		.duration_ns = summary->duration_ns,
		.is_complete = summary->is_complete,
		.end = summary->end,
		.damage = text_of(writer, summary->damage),
		.steps = summary->steps,
		.step_source = text_of(writer, summary->step_source),
		.why_not_judged = text_of(writer, summary->why_not_judged),
		.failures = summary->failures,
		.retries = summary->retries,
		.findings = summary->finding_count,
		.left_out_places = summary->left_out_places,
		.left_out_bytes = summary->left_out_bytes,
	};

	put_rows(writer, GMT_RECORD_SUMMARY_HEAD, &row, 1);
}

static void put_machine(struct writer *writer)
{
	const struct gmt_process_summary *summary = writer->summary;
	struct gmt_device *devices = begin_rows(writer, GMT_RECORD_DEVICE, summary->device_count);

	for (uint32_t i = 0; devices && i < summary->device_count; i++)
		devices[i] = (struct gmt_device){
			.ordinal = summary->devices[i].ordinal,
			.name = text_of(writer, summary->devices[i].name),
			.uuid = text_of(writer, summary->devices[i].uuid),
			.total_bytes = summary->devices[i].total_bytes,
		};
	put_rows(writer, GMT_RECORD_DEVICE, devices, summary->device_count);

	struct gmt_environment *variables =
		begin_rows(writer, GMT_RECORD_ENVIRONMENT, summary->variable_count);
	for (uint32_t i = 0; variables && i < summary->variable_count; i++)
		variables[i] = (struct gmt_environment){
			.name = text_of(writer, summary->variables[i].name),
			.value = text_of(writer, summary->variables[i].value),
		};
	put_rows(writer, GMT_RECORD_ENVIRONMENT, variables, summary->variable_count);
}

static void put_accounts(struct writer *writer)
{
	const struct gmt_process_summary *summary = writer->summary;
	struct gmt_summary_account *rows =
		begin_rows(writer, GMT_RECORD_SUMMARY_ACCOUNT, summary->account_count);

	for (uint32_t i = 0; rows && i < summary->account_count; i++) {
		const struct gmt_summarized_account *account = &summary->accounts[i];

		rows[i] = (struct gmt_summary_account){
			.layer = account->layer,
			.device = account->device,
			.peak_bytes = account->peak_bytes,
			.peak_blocks = account->peak_blocks,
			.peak_time_ns = account->peak_time_ns,
			.peak_step_plus_1 = account->has_step ? (uint64_t)account->peak_step + 1 : 0,
			.peak_phase = text_of(writer, account->peak_phase),
			.end_bytes = account->end_bytes,
			.end_blocks = account->end_blocks,
			.alloc_count = account->alloc_count,
			.total_bytes = account->total_bytes,
			.has_reserved = account->has_reserved,
			.reserved_peak_bytes = account->reserved_peak_bytes,
			.reserved_end_bytes = account->reserved_end_bytes,
		};
	}
	put_rows(writer, GMT_RECORD_SUMMARY_ACCOUNT, rows, summary->account_count);
}

static void put_curves(struct writer *writer)
{
	const struct gmt_process_summary *summary = writer->summary;
	struct gmt_summary_steps *steps =
		begin_rows(writer, GMT_RECORD_SUMMARY_STEPS, summary->step_count);

	for (uint32_t i = 0; steps && i < summary->step_count; i++)
		steps[i] = (struct gmt_summary_steps){
			.first_step = summary->step_curve[i].first_step,
			.end_time_ns = summary->step_curve[i].end_time_ns,
			.peak_bytes = summary->step_curve[i].peak_bytes,
			.end_bytes = summary->step_curve[i].end_bytes,
		};
	put_rows(writer, GMT_RECORD_SUMMARY_STEPS, steps, summary->step_count);

	struct gmt_summary_times *times =
		begin_rows(writer, GMT_RECORD_SUMMARY_TIMES, summary->time_count);
	for (uint32_t i = 0; times && i < summary->time_count; i++)
		times[i] = (struct gmt_summary_times){
			.end_time_ns = summary->time_curve[i].end_time_ns,
			.peak_bytes = summary->time_curve[i].peak_bytes,
			.end_bytes = summary->time_curve[i].end_bytes,
		};
	put_rows(writer, GMT_RECORD_SUMMARY_TIMES, times, summary->time_count);
}

static void put_uses(struct writer *writer)
{
	const struct gmt_process_summary *summary = writer->summary;
	struct gmt_summary_use *rows = begin_rows(writer, GMT_RECORD_SUMMARY_USE, summary->use_count);

	for (uint32_t i = 0; rows && i < summary->use_count; i++)
		rows[i] = (struct gmt_summary_use){
			.device = summary->uses[i].device,
			.is_peak = summary->uses[i].is_peak,
			.time_ns = summary->uses[i].time_ns,
			.used_bytes = summary->uses[i].used_bytes,
			.total_bytes = summary->uses[i].total_bytes,
			.has_others = summary->uses[i].has_others,
			.others_bytes = summary->uses[i].others_bytes,
			.unexplained_bytes = summary->uses[i].unexplained_bytes,
		};
	put_rows(writer, GMT_RECORD_SUMMARY_USE, rows, summary->use_count);
}

static void put_places(struct writer *writer)
{
	const struct gmt_process_summary *summary = writer->summary;
	struct gmt_summary_place *rows =
		begin_rows(writer, GMT_RECORD_SUMMARY_PLACE, summary->place_count);

	for (uint32_t i = 0; rows && i < summary->place_count; i++) {
		const struct gmt_summarized_place *from = &summary->places[i];
		const struct gmt_job_place *place = gmt_job_place_of(writer->store, from->place);

		rows[i] = (struct gmt_summary_place){
			.layer = from->layer,
			.device = from->device,
			.file = text_of(writer, place->file),
			.function = text_of(writer, place->function),
			.line = place->line,
			.sites = from->sites,
			.peak_bytes = from->peak_bytes,
			.peak_blocks = from->peak_blocks,
			.end_bytes = from->end_bytes,
			.end_blocks = from->end_blocks,
			.total_bytes = from->total_bytes,
		};
	}
	put_rows(writer, GMT_RECORD_SUMMARY_PLACE, rows, summary->place_count);
}

static void put_findings(struct writer *writer)
{
	const struct gmt_process_summary *summary = writer->summary;
	struct gmt_summary_finding *rows =
		begin_rows(writer, GMT_RECORD_SUMMARY_FINDING, summary->findings_kept);

	for (uint32_t i = 0; rows && i < summary->findings_kept; i++) {
		const struct gmt_summarized_finding *from = &summary->findings[i];
		const struct gmt_job_place *place = gmt_job_place_of(writer->store, from->place);

		rows[i] = (struct gmt_summary_finding){
			.definition = text_of(writer, from->definition),
			.layer = from->layer,
			.device = from->device,
			.file = text_of(writer, place->file),
			.function = text_of(writer, place->function),
			.line = place->line,
			.bytes = from->bytes,
			.blocks = from->blocks,
			.has_rate = from->has_rate,
			.step_bytes = from->step_bytes,
			.confidence_ppm = from->confidence_ppm,
			.has_step = from->has_step,
			.first_step = from->first_step,
			.first_time_ns = from->first_time_ns,
			.steps = from->steps,
			.hint = text_of(writer, from->hint),
		};
	}
	put_rows(writer, GMT_RECORD_SUMMARY_FINDING, rows, summary->findings_kept);
}

static void put_refusals(struct writer *writer)
{
	const struct gmt_process_summary *summary = writer->summary;
	struct gmt_summary_refusal *rows =
		begin_rows(writer, GMT_RECORD_SUMMARY_REFUSAL, summary->refusal_count);

	for (uint32_t i = 0; rows && i < summary->refusal_count; i++) {
		const struct gmt_summarized_refusal *from = &summary->refusals[i];
		const struct gmt_job_place *place = gmt_job_place_of(writer->store, from->place);

		rows[i] = (struct gmt_summary_refusal){
			.time_ns = from->time_ns,
			.step_plus_1 = from->has_step ? (uint64_t)from->step + 1 : 0,
			.layer = from->layer,
			.device = from->device,
			.requested_bytes = from->requested_bytes,
			.is_recovered = from->is_recovered,
			.has_driver = from->has_driver,
			.free_bytes = from->free_bytes,
			.device_bytes = from->device_bytes,
			.live_bytes = from->live_bytes,
			.cuda_bytes = from->cuda_bytes,
			.file = text_of(writer, place->file),
			.function = text_of(writer, place->function),
			.line = place->line,
		};
	}
	put_rows(writer, GMT_RECORD_SUMMARY_REFUSAL, rows, summary->refusal_count);
}

enum gmt_status gmt_summary_encode(const struct gmt_job_store *store,
	const struct gmt_process_summary *summary, struct gmt_summary_bytes *ret_bytes,
	struct gmt_error *error)
{
	struct writer writer = { .store = store, .summary = summary, .to = ret_bytes, .error = error };
	uint8_t header[GMT_FILE_HEADER_BYTES];

	gmt_summary_make_header(header);
	append(&writer, header, sizeof(header));
	put_head(&writer);
	put_process(&writer);
	put_machine(&writer);
	put_accounts(&writer);
	put_curves(&writer);
	put_uses(&writer);
	put_places(&writer);
	put_findings(&writer);
	put_refusals(&writer);

	const struct gmt_summary_end end = { .rows = writer.row_count };
	put_rows(&writer, GMT_RECORD_SUMMARY_END, &end, 1);
	gmt_encoder_fini(&writer.encoder);
	gmt_vec_fini(&writer.rows);
	return writer.status;
}
