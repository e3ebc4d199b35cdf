/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/dump_filter.h"

#include "reader/load/clock.h"
#include "format/encoding/column_reader.h"

static uint64_t time_of(const struct gmt_dump_filter *filter, const struct gmt_moment *moment)
{
	return moment->kind == GMT_MOMENT_NOT_GIVEN ? UINT64_MAX
		: moment->has_unit                      ? moment->value
						   : gmt_clock_time_of_option_ns(&filter->clocks, moment->value);
}

void gmt_dump_filter_set_times(struct gmt_dump_filter *filter)
{
	filter->from_ns = time_of(filter, &filter->from_option);
	filter->until_ns = time_of(filter, &filter->until_option);
}

static int field_of(const struct gmt_record_info *record, const char *name)
{
	const struct gmt_field_info *field = gmt_record_field(record, name);

	return field ? (int)(field - record->fields) : GMT_DUMP_NO_FIELD;
}

int gmt_dump_filter_stamp_field(const struct gmt_dump_filter *filter,
	const struct gmt_record_info *record)
{
	return gmt_dump_filter_has_times(filter) && record->number != GMT_RECORD_CLOCK
		? field_of(record, "stamp")
		: GMT_DUMP_NO_FIELD;
}

int gmt_dump_filter_device_field(const struct gmt_dump_filter *filter,
	const struct gmt_record_info *record)
{
	return filter->device != UINT64_MAX ? field_of(record, "device") : GMT_DUMP_NO_FIELD;
}

bool gmt_dump_filter_accepts_span(const struct gmt_dump_filter *filter, uint64_t first,
	uint64_t last)
{
	return (filter->from_ns == UINT64_MAX ||
			   gmt_clock_time_ns(&filter->clocks, last) >= filter->from_ns) &&
		(filter->until_ns == UINT64_MAX ||
			gmt_clock_time_ns(&filter->clocks, first) <= filter->until_ns);
}

/* Returns whether the device matches. A free may not have a device; then it matches. */
static bool is_of_device(const struct gmt_dump_filter *filter, uint64_t device)
{
	return device == filter->device || device == (uint64_t)(int64_t)GMT_DEVICE_UNKNOWN;
}

bool gmt_dump_filter_may_accept_block(const struct gmt_dump_filter *filter,
	const struct gmt_block *block, const struct gmt_record_info *record)
{
	int stamp_field = gmt_dump_filter_stamp_field(filter, record),
		device_field = gmt_dump_filter_device_field(filter, record);
	struct gmt_column_reader column;
	uint64_t value, first = UINT64_MAX, last = 0;
	bool has_device = false;

	/* A block that cannot be read here is decoded later, and the decoder reports the error. */
	if (stamp_field != GMT_DUMP_NO_FIELD &&
		gmt_column_reader_open(&column, block, record, (uint32_t)stamp_field)) {
		for (uint32_t i = 0; i < block->rows; i++) {
			if (!gmt_column_reader_next(&column, &value))
				return true;
			first = value < first ? value : first;
			last = value > last ? value : last;
		}
		if (!gmt_dump_filter_accepts_span(filter, first, last))
			return false;
	}
	if (device_field == GMT_DUMP_NO_FIELD ||
		!gmt_column_reader_open(&column, block, record, (uint32_t)device_field))
		return true;
	for (uint32_t i = 0; i < block->rows && !has_device; i++)
		has_device = !gmt_column_reader_next(&column, &value) || is_of_device(filter, value);
	return has_device;
}

/* Returns the same value as gmt_column_reader_next. */
static uint64_t value_of(const struct gmt_field_info *field, const void *row)
{
	return gmt_field_number(field, (const char *)row + field->offset);
}

bool gmt_dump_filter_accepts_row(const struct gmt_dump_filter *filter,
	const struct gmt_record_info *record, const void *row)
{
	int stamp_field = gmt_dump_filter_stamp_field(filter, record),
		device_field = gmt_dump_filter_device_field(filter, record);

	if (stamp_field != GMT_DUMP_NO_FIELD) {
		uint64_t stamp = value_of(&record->fields[stamp_field], row);

		if (!gmt_dump_filter_accepts_span(filter, stamp, stamp))
			return false;
	}
	return device_field == GMT_DUMP_NO_FIELD ||
		is_of_device(filter, value_of(&record->fields[device_field], row));
}
