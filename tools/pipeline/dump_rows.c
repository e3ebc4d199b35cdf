/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/dump_choice.h"

#include "reader/load/clock.h"
#include "format/encoding/column_reader.h"

static uint64_t time_of(const struct gmt_dump_choice *choice, const struct gmt_moment *moment)
{
	return moment->kind == GMT_MOMENT_NOT_GIVEN ? UINT64_MAX
		: moment->has_unit                      ? moment->value
						   : gmt_clock_time_of_option_ns(&choice->clocks, moment->value);
}

void gmt_dump_choice_set_times(struct gmt_dump_choice *choice)
{
	choice->from = time_of(choice, &choice->from_option);
	choice->until = time_of(choice, &choice->until_option);
}

static int field_of(const struct gmt_record_info *record, const char *name)
{
	const struct gmt_field_info *field = gmt_record_field(record, name);

	return field ? (int)(field - record->fields) : GMT_DUMP_NO_FIELD;
}

int gmt_dump_choice_moment_of(const struct gmt_dump_choice *choice,
	const struct gmt_record_info *record)
{
	return gmt_dump_choice_has_times(choice) && record->number != GMT_RECORD_CLOCK
		? field_of(record, "stamp")
		: GMT_DUMP_NO_FIELD;
}

int gmt_dump_choice_device_of(const struct gmt_dump_choice *choice,
	const struct gmt_record_info *record)
{
	return choice->device != UINT64_MAX ? field_of(record, "device") : GMT_DUMP_NO_FIELD;
}

bool gmt_dump_choice_is_in_time(const struct gmt_dump_choice *choice, uint64_t first, uint64_t last)
{
	return (choice->from == UINT64_MAX ||
			   gmt_clock_time_ns(&choice->clocks, last) >= choice->from) &&
		(choice->until == UINT64_MAX || gmt_clock_time_ns(&choice->clocks, first) <= choice->until);
}

/* A free may not say which device it belongs to. */
static bool is_of_device(const struct gmt_dump_choice *choice, uint64_t device)
{
	return device == choice->device || device == (uint64_t)(int64_t)GMT_DEVICE_UNKNOWN;
}

bool gmt_dump_choice_may_be_in(const struct gmt_dump_choice *choice, const struct gmt_block *block,
	const struct gmt_record_info *record)
{
	int moment = gmt_dump_choice_moment_of(choice, record),
		device = gmt_dump_choice_device_of(choice, record);
	struct gmt_column_reader column;
	uint64_t value, first = UINT64_MAX, last = 0;
	bool is_there = false;

	/* A block that cannot be read here is decoded later, and the decoder reports the error. */
	if (moment != GMT_DUMP_NO_FIELD &&
		gmt_column_reader_open(&column, block, record, (uint32_t)moment)) {
		for (uint32_t i = 0; i < block->rows; i++) {
			if (!gmt_column_reader_next(&column, &value))
				return true;
			first = value < first ? value : first;
			last = value > last ? value : last;
		}
		if (!gmt_dump_choice_is_in_time(choice, first, last))
			return false;
	}
	if (device == GMT_DUMP_NO_FIELD ||
		!gmt_column_reader_open(&column, block, record, (uint32_t)device))
		return true;
	for (uint32_t i = 0; i < block->rows && !is_there; i++)
		is_there = !gmt_column_reader_next(&column, &value) || is_of_device(choice, value);
	return is_there;
}

/* Returns the same value as gmt_column_reader_next. */
static uint64_t value_of(const struct gmt_field_info *field, const void *row)
{
	return gmt_field_number(field, (const char *)row + field->offset);
}

bool gmt_dump_choice_wants(const struct gmt_dump_choice *choice,
	const struct gmt_record_info *record, const void *row)
{
	int moment = gmt_dump_choice_moment_of(choice, record),
		device = gmt_dump_choice_device_of(choice, record);

	if (moment != GMT_DUMP_NO_FIELD) {
		uint64_t stamp = value_of(&record->fields[moment], row);

		if (!gmt_dump_choice_is_in_time(choice, stamp, stamp))
			return false;
	}
	return device == GMT_DUMP_NO_FIELD ||
		is_of_device(choice, value_of(&record->fields[device], row));
}
