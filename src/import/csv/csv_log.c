/* SPDX-License-Identifier: MIT */
#include "import/csv/csv_log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { SHOWN_BYTES = 40, SECOND_NS = 1000000000 };

static const char *const column_names[GMT_CSV_COLUMNS] = {
#define GMT_CSV_COLUMN(NAME, names) names,
#include "import/csv/csv_columns.def"
#undef GMT_CSV_COLUMN
};

/* The words of the column `operation`. RMM writes `allocate` and `allocate failure`. */
static const struct {
	const char *word;
	enum gmt_csv_operation operation;
} operations[] = {
	{ "alloc", GMT_CSV_ALLOC },
	{ "allocate", GMT_CSV_ALLOC },
	{ "malloc", GMT_CSV_ALLOC },
	{ "free", GMT_CSV_FREE },
	{ "deallocate", GMT_CSV_FREE },
	{ "dealloc", GMT_CSV_FREE },
	{ "alloc_failed", GMT_CSV_FAILED },
	{ "allocate failure", GMT_CSV_FAILED },
};

/* Sets an error about a line. Returns GMT_FORMAT. */
static enum gmt_status line_error(const struct gmt_csv *csv, struct gmt_error *error,
	const char *format, ...) __attribute__((format(printf, 3, 4)));

static enum gmt_status line_error(const struct gmt_csv *csv, struct gmt_error *error,
	const char *format, ...)
{
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return gmt_error_set(error, GMT_FORMAT, "line %" PRIu64 ": %s", csv->line, text);
}

static bool is_word(const struct gmt_csv_field *field, const char *word, size_t length)
{
	return field->length == length && strncasecmp(field->text, word, length) == 0;
}

/* Returns whether a field is one of the words in `names`, which blanks separate. */
static bool is_one_of(const struct gmt_csv_field *field, const char *names)
{
	for (size_t length; *names; names += length + (names[length] == ' ')) {
		length = strcspn(names, " ");
		if (is_word(field, names, length))
			return true;
	}
	return false;
}

static bool has(const struct gmt_csv_header *header, enum gmt_csv_column column)
{
	return header->field_plus_1[column];
}

enum gmt_status gmt_csv_read_header(const struct gmt_csv *csv, struct gmt_csv_header *ret_header,
	struct gmt_error *error)
{
	uint32_t times = 0;

	*ret_header = (struct gmt_csv_header){ .fields = (uint32_t)csv->fields.count };
	for (uint32_t i = 0; i < csv->fields.count; i++)
		for (int column = 0; column < GMT_CSV_COLUMNS; column++) {
			const struct gmt_csv_field *field = &csv->fields.items[i];

			if (!is_one_of(field, column_names[column]))
				continue;
			if (ret_header->field_plus_1[column])
				return line_error(csv, error, "two columns are `%.*s`",
					(int)strcspn(column_names[column], " "), column_names[column]);
			ret_header->field_plus_1[column] = i + 1;
			times += column <= GMT_CSV_TIME_OF_DAY;
		}
	if (times != 1)
		return line_error(csv, error,
			times ? "more than one column is the time"
				  : "no column is the time: it is called time_ns, time_us, time_ms or time_s");
	if (!has(ret_header, GMT_CSV_POINTER))
		return line_error(csv, error, "no column is called `pointer`");
	if (!has(ret_header, GMT_CSV_SIZE))
		return line_error(csv, error, "no column is called `size`");
	return GMT_OK;
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Reads digits, or hexadecimal digits after 0x. Returns false if the text is anything else. */
static bool parse_number(const char *text, uint32_t length, uint64_t *ret_number)
{
	bool is_hexadecimal = length > 2 && text[0] == '0' && (text[1] | 0x20) == 'x';
	uint64_t base = is_hexadecimal ? 16 : 10, number = 0;

	if (!length)
		return false;
	for (uint32_t i = is_hexadecimal ? 2 : 0; i < length; i++) {
		unsigned char character = (unsigned char)text[i];
		uint64_t digit = character >= '0' && character <= '9' ? (uint64_t)(character - '0')
			: is_hexadecimal && (character | 0x20) >= 'a' && (character | 0x20) <= 'f'
			? (uint64_t)((character | 0x20) - 'a' + 10)
			: base;

		if (digit >= base || number > (UINT64_MAX - digit) / base)
			return false;
		number = number * base + digit;
	}
	*ret_number = number;
	return true;
}

/* Reads a decimal number of `unit_ns` and rounds it down to nanoseconds. */
static bool parse_time(const char *text, uint32_t length, uint64_t unit_ns, uint64_t *ret_ns)
{
	const char *dot = memchr(text, '.', length);
	uint32_t whole = dot ? (uint32_t)(dot - text) : length;
	uint64_t number = 0, place_ns = unit_ns;

	if ((whole && !parse_number(text, whole, &number)) || (!whole && length < 2) ||
		number > UINT64_MAX / 2 / unit_ns)
		return false;
	*ret_ns = number * unit_ns;
	for (uint32_t i = whole + 1; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		place_ns /= 10;
		*ret_ns += place_ns * (uint64_t)(text[i] - '0');
	}
	return true;
}

/* Reads a time of the day: 23:59:59.123456. */
static bool parse_time_of_day(const char *text, uint32_t length, uint64_t *ret_ns)
{
	uint64_t hours, minutes, seconds_ns;

	if (length < 8 || text[2] != ':' || text[5] != ':' || !parse_number(text, 2, &hours) ||
		!parse_number(text + 3, 2, &minutes) || hours > 23 || minutes > 59 ||
		!parse_time(text + 6, length - 6, SECOND_NS, &seconds_ns))
		return false;
	*ret_ns = (hours * 60 + minutes) * 60 * SECOND_NS + seconds_ns;
	return true;
}

/* --- values of a row -------------------------------------------------------------------------- */

static const struct gmt_csv_field *field_of(const struct gmt_csv *csv,
	const struct gmt_csv_header *header, enum gmt_csv_column column)
{
	static const struct gmt_csv_field empty = { "", 0 };

	return has(header, column) ? &csv->fields.items[header->field_plus_1[column] - 1] : &empty;
}

static enum gmt_status refuse_value(const struct gmt_csv *csv, enum gmt_csv_column column,
	const struct gmt_csv_field *field, const char *wanted, struct gmt_error *error)
{
	int shown = field->length < SHOWN_BYTES ? (int)field->length : SHOWN_BYTES;

	return line_error(csv, error, "`%.*s` is `%.*s%s`, not %s",
		(int)strcspn(column_names[column], " "), column_names[column], shown, field->text,
		field->length > SHOWN_BYTES ? "..." : "", wanted);
}

static enum gmt_status read_time(const struct gmt_csv *csv, const struct gmt_csv_header *header,
	uint64_t *ret_ns, struct gmt_error *error)
{
	static const uint64_t units[] = { 1, 1000, 1000000, SECOND_NS };

	for (int column = 0; column < GMT_CSV_TIME_OF_DAY; column++) {
		const struct gmt_csv_field *field = field_of(csv, header, (enum gmt_csv_column)column);

		if (has(header, (enum gmt_csv_column)column))
			return parse_time(field->text, field->length, units[column], ret_ns)
				? GMT_OK
				: refuse_value(csv, (enum gmt_csv_column)column, field, "a time", error);
	}

	const struct gmt_csv_field *field = field_of(csv, header, GMT_CSV_TIME_OF_DAY);
	return parse_time_of_day(field->text, field->length, ret_ns)
		? GMT_OK
		: refuse_value(csv, GMT_CSV_TIME_OF_DAY, field,
			  "a time of the day such as 23:59:59.123456 (other times: time_ns, time_us, time_ms, "
			  "time_s)",
			  error);
}

/* Reads the size and the operation, of which a negative size is one form. */
static enum gmt_status read_operation(const struct gmt_csv *csv,
	const struct gmt_csv_header *header, struct gmt_csv_row *row, struct gmt_error *error)
{
	const struct gmt_csv_field *size = field_of(csv, header, GMT_CSV_SIZE);
	const struct gmt_csv_field *word = field_of(csv, header, GMT_CSV_OPERATION);
	bool is_negative = size->length && *size->text == '-', is_found = false;
	bool has_sign = is_negative || (size->length && *size->text == '+');

	/* A free need not have a size. */
	if (size->length &&
		!parse_number(size->text + has_sign, size->length - has_sign, &row->size_bytes))
		return refuse_value(csv, GMT_CSV_SIZE, size, "a number of bytes", error);
	if (!has(header, GMT_CSV_OPERATION)) {
		row->operation = is_negative ? GMT_CSV_FREE : GMT_CSV_ALLOC;
		return row->size_bytes ? GMT_OK
							   : refuse_value(csv, GMT_CSV_SIZE, size,
									 "more or less than 0: without the column `operation`, the "
									 "sign shows whether memory is allocated or freed",
									 error);
	}
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
		if (is_word(word, operations[i].word, strlen(operations[i].word))) {
			row->operation = operations[i].operation;
			is_found = true;
		}
	if (!is_found)
		return refuse_value(csv, GMT_CSV_OPERATION, word, "`alloc`, `free` or `alloc_failed`",
			error);
	if (is_negative && row->operation != GMT_CSV_FREE)
		return refuse_value(csv, GMT_CSV_SIZE, size, "a number of bytes", error);
	if (!size->length && row->operation != GMT_CSV_FREE)
		return line_error(csv, error, "`size` is empty");
	return GMT_OK;
}

static enum gmt_status read_place(const struct gmt_csv *csv, const struct gmt_csv_header *header,
	struct gmt_csv_row *row, struct gmt_error *error)
{
	const struct gmt_csv_field *pointer = field_of(csv, header, GMT_CSV_POINTER);
	const struct gmt_csv_field *device = field_of(csv, header, GMT_CSV_DEVICE);
	const struct gmt_csv_field *stream = field_of(csv, header, GMT_CSV_STREAM);
	uint64_t number = 0;

	/* RMM writes (nil) for the pointer of a failed request. */
	if (!parse_number(pointer->text, pointer->length, &row->pointer) &&
		row->operation != GMT_CSV_FAILED)
		return refuse_value(csv, GMT_CSV_POINTER, pointer, "an address", error);
	if (stream->length && !parse_number(stream->text, stream->length, &row->stream))
		return refuse_value(csv, GMT_CSV_STREAM, stream, "a number", error);
	if (is_word(device, "-1", 2) || is_word(device, "host", 4)) {
		row->device = -1;
		return GMT_OK;
	}
	if (device->length &&
		(!parse_number(device->text, device->length, &number) || number > INT16_MAX))
		return refuse_value(csv, GMT_CSV_DEVICE, device, "the number of a GPU, or `host`", error);
	row->device = (int16_t)number;
	return GMT_OK;
}

enum gmt_status gmt_csv_read_row(const struct gmt_csv *csv, const struct gmt_csv_header *header,
	struct gmt_csv_row *ret_row, struct gmt_error *error)
{
	enum gmt_status status;

	*ret_row = (struct gmt_csv_row){ 0 };
	if (csv->fields.count != header->fields)
		return line_error(csv, error, "the header has %" PRIu32 " fields, and this line has %zu",
			header->fields, csv->fields.count);
	status = read_time(csv, header, &ret_row->time_ns, error);
	if (!status)
		status = read_operation(csv, header, ret_row, error);
	if (!status)
		status = read_place(csv, header, ret_row, error);
	ret_row->thread = *field_of(csv, header, GMT_CSV_THREAD);
	ret_row->stack = *field_of(csv, header, GMT_CSV_STACK);
	return status;
}
