/* SPDX-License-Identifier: MIT */
#include "tools/dump_choice.h"

#include <string.h>
#include <sys/stat.h>

#include "model/clock.h"
#include "tools/input.h"
#include "tools/leftovers.h"
#include "tools/say.h"
#include "wire/column.h"
#include "wire/decode.h"

enum { NO_FIELD = -1 };

static bool has_times(const struct gmt_dump_choice *choice)
{
	return choice->from != UINT64_MAX || choice->until != UINT64_MAX;
}

static bool add_rows(struct gmt_snapshot *clocks, uint32_t kind, const void *rows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (kind == GMT_RECORD_PROCESS) {
			const struct gmt_process *row = (const struct gmt_process *)rows + i;

			/* The first counts. */
			if (clocks->has_process)
				continue;
			clocks->has_process = true;
			clocks->process.start_stamp = row->start_stamp;
			clocks->process.start_time_ns = row->start_time_ns;
		} else {
			const struct gmt_clock *row = (const struct gmt_clock *)rows + i;
			struct gmt_snapshot_clock *clock = gmt_vec_push(&clocks->clocks);

			if (!clock)
				return false;
			*clock = (struct gmt_snapshot_clock){ row->stamp, row->monotonic_ns, row->realtime_ns };
		}
	}
	return true;
}

/* As far as the file can be read: what is wrong with it is said when it is printed. */
static enum gmt_status read_clocks(struct gmt_snapshot *clocks, struct gmt_source *source, struct gmt_error *error)
{
	struct gmt_decoder decoder = { 0 };
	struct gmt_block block;
	enum gmt_status status = GMT_OK;
	const void *rows;

	while (!status && !gmt_source_next(source, &block, NULL)) {
		if (block.kind != GMT_RECORD_PROCESS && block.kind != GMT_RECORD_CLOCK)
			continue;
		if (gmt_decode_rows(&decoder, &block, &rows, NULL))
			break;
		if (!add_rows(clocks, block.kind, rows, block.rows))
			status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	gmt_decoder_fini(&decoder);
	gmt_clock_prepare(clocks);
	return status;
}

int gmt_dump_choice_init(struct gmt_dump_choice *choice, const char *path)
{
	struct gmt_error error = { 0 };
	struct gmt_leftover *leftover;
	struct gmt_source *source;
	struct stat about;

	if (!has_times(choice))
		return 0;
	if (!stat(path, &about) && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
		gmt_say_error("dump: %s is read twice for --from and --until, and so must be a file", path);
		return GMT_EXIT_USAGE;
	}
	leftover = gmt_leftovers_find(path);

	enum gmt_status status = gmt_source_open_with(path, leftover, &source, &error);
	if (!status) {
		status = read_clocks(&choice->clocks, source, &error);
		gmt_source_close(source);
	}
	gmt_leftover_close(leftover);
	choice->from = gmt_clock_time_of_option_ns(&choice->clocks, choice->from);
	choice->until = gmt_clock_time_of_option_ns(&choice->clocks, choice->until);
	return status ? gmt_say_failure(&error) : 0;
}

static int field_of(const struct gmt_record_info *record, const char *name)
{
	for (uint32_t f = 0; f < record->field_count; f++)
		if (strcmp(record->fields[f].name, name) == 0)
			return (int)f;
	return NO_FIELD;
}

/* The field that tells when a row was; NO_FIELD when rows are wanted whenever they were. */
static int moment_of(const struct gmt_dump_choice *choice, const struct gmt_record_info *record)
{
	return has_times(choice) && record->number != GMT_RECORD_CLOCK ? field_of(record, "stamp") : NO_FIELD;
}

static int device_of(const struct gmt_dump_choice *choice, const struct gmt_record_info *record)
{
	return choice->device != UINT64_MAX ? field_of(record, "device") : NO_FIELD;
}

/* The first and the last of some stamps; their times stand in the same order. */
static bool is_in_time(const struct gmt_dump_choice *choice, uint64_t first, uint64_t last)
{
	return (choice->from == UINT64_MAX || gmt_clock_time_ns(&choice->clocks, last) >= choice->from) &&
		(choice->until == UINT64_MAX || gmt_clock_time_ns(&choice->clocks, first) <= choice->until);
}

/* A free may not say which device it is of. */
static bool is_of_device(const struct gmt_dump_choice *choice, uint64_t device)
{
	return device == choice->device || device == (uint64_t)(int64_t)GMT_DEVICE_UNKNOWN;
}

bool gmt_dump_choice_may_be_in(const struct gmt_dump_choice *choice, const struct gmt_block *block,
	const struct gmt_record_info *record)
{
	int moment = moment_of(choice, record), device = device_of(choice, record);
	struct gmt_column column;
	uint64_t value, first = UINT64_MAX, last = 0;
	bool is_there = false;

	/* What cannot be read here is decoded, which says what is wrong. */
	if (moment != NO_FIELD && gmt_column_open(&column, block, record, (uint32_t)moment)) {
		for (uint32_t i = 0; i < block->rows; i++) {
			if (!gmt_column_next(&column, &value))
				return true;
			first = value < first ? value : first;
			last = value > last ? value : last;
		}
		if (!is_in_time(choice, first, last))
			return false;
	}
	if (device == NO_FIELD || !gmt_column_open(&column, block, record, (uint32_t)device))
		return true;
	for (uint32_t i = 0; i < block->rows && !is_there; i++)
		is_there = !gmt_column_next(&column, &value) || is_of_device(choice, value);
	return is_there;
}

/* As gmt_column_next tells it. */
static uint64_t value_of(const struct gmt_field_info *field, const void *row)
{
	return gmt_field_number(field, (const char *)row + field->offset);
}

bool gmt_dump_choice_wants(const struct gmt_dump_choice *choice, const struct gmt_record_info *record, const void *row)
{
	int moment = moment_of(choice, record), device = device_of(choice, record);

	if (moment != NO_FIELD) {
		uint64_t stamp = value_of(&record->fields[moment], row);

		if (!is_in_time(choice, stamp, stamp))
			return false;
	}
	return device == NO_FIELD || is_of_device(choice, value_of(&record->fields[device], row));
}

void gmt_dump_choice_fini(struct gmt_dump_choice *choice)
{
	gmt_vec_fini(&choice->clocks.clocks);
}
