/* SPDX-License-Identifier: MIT */
#include "render/page/packet.h"

#include <stdarg.h>
#include <stdlib.h>

#include "format/encoding/little_endian.h"
#include "format/encoding/varint.h"
#include "format/file/gzip.h"
#include "render/page/base64.h"

/* A higher level takes twice the time for a few percent. */
enum { GZIP_LEVEL = 4 };

static const uint64_t MAX_NUMBER = UINT64_C(1) << 53;

/* Returns the greatest common divisor of all numbers, or 1 if all are 0. */
static uint64_t unit_of(const int64_t *numbers, size_t count)
{
	uint64_t unit = 0;

	for (size_t i = 0; i < count && unit != 1; i++) {
		uint64_t rest = numbers[i] < 0 ? -(uint64_t)numbers[i] : (uint64_t)numbers[i];

		while (rest) {
			uint64_t before = unit;

			unit = rest;
			rest = before % unit;
		}
	}
	return unit ? unit : 1;
}

/* The two forms of a column: the numbers, or their differences. */
struct forms {
	uint64_t plain_bits, difference_bits; /* sums of the lengths */
	uint64_t plain_all, difference_all; /* bits that some number has */
};

static unsigned bits_of(uint64_t number)
{
	return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

/* Divides the numbers by the unit and measures both forms. */
static struct forms divide(int64_t *numbers, size_t count, int64_t unit)
{
	struct forms forms = { 0 };
	int64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		if (unit > 1)
			numbers[i] /= unit;

		uint64_t plain = gmt_zigzag((uint64_t)numbers[i]),
				 difference = gmt_zigzag((uint64_t)(numbers[i] - last));

		last = numbers[i];
		forms.plain_bits += bits_of(plain);
		forms.difference_bits += bits_of(difference);
		forms.plain_all |= plain;
		forms.difference_all |= difference;
	}
	return forms;
}

/* Writes the first bytes of all numbers, then their second bytes, and so on. */
static void put_planes(uint8_t *to, const int64_t *numbers, size_t count, size_t planes,
	bool is_differences)
{
	int64_t last = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t number = gmt_zigzag((uint64_t)(numbers[i] - last));

		last = is_differences ? numbers[i] : 0;
		for (size_t plane = 0; plane < planes; plane++)
			to[plane * count + i] = (uint8_t)(number >> 8 * plane);
	}
}

/* Ends the last column: chooses its form and encodes its numbers. */
static void end_column(struct gmt_packet *packet)
{
	size_t count = packet->numbers.count, planes;
	struct gmt_packet_column *column;
	struct forms forms;

	if (!packet->columns.count || packet->has_failed)
		return;
	column = &packet->columns.items[packet->columns.count - 1];
	column->offset = packet->bytes.count;
	column->count = count;
	column->unit = unit_of(packet->numbers.items, count);
	forms = divide(packet->numbers.items, count, (int64_t)column->unit);
	column->is_differences = forms.difference_bits < forms.plain_bits;
	planes = (bits_of(column->is_differences ? forms.difference_all : forms.plain_all) + 7) / 8;
	column->bytes = planes * count;
	packet->numbers.count = 0;
	if (!column->bytes)
		return;
	if (!gmt_vec_reserve(&packet->bytes, column->bytes)) {
		packet->has_failed = true;
		return;
	}
	put_planes(packet->bytes.items + packet->bytes.count, packet->numbers.items, count, planes,
		column->is_differences);
	packet->bytes.count += column->bytes;
}

void gmt_packet_column(struct gmt_packet *packet, const char *format, ...)
{
	struct gmt_packet_column *column;
	va_list arguments;

	end_column(packet);
	column = gmt_vec_push(&packet->columns);
	if (!column) {
		packet->has_failed = true;
		return;
	}
	va_start(arguments, format);
	vsnprintf(column->name, sizeof(column->name), format, arguments);
	va_end(arguments);
}

void gmt_packet_subtracted_from(struct gmt_packet *packet, const char *format, ...)
{
	struct gmt_packet_column *column =
		packet->has_failed ? NULL : &packet->columns.items[packet->columns.count - 1];
	va_list arguments;

	if (!column)
		return;
	va_start(arguments, format);
	vsnprintf(column->less, sizeof(column->less), format, arguments);
	va_end(arguments);
}

static void put(struct gmt_packet *packet, int64_t number)
{
	int64_t *slot = packet->has_failed ? NULL : gmt_vec_push(&packet->numbers);

	packet->has_failed |= !slot;
	if (slot)
		*slot = number;
}

static int64_t limit(uint64_t value)
{
	return (int64_t)(value < MAX_NUMBER ? value : MAX_NUMBER);
}

void gmt_packet_put(struct gmt_packet *packet, uint64_t value)
{
	put(packet, limit(value));
}

void gmt_packet_put_signed(struct gmt_packet *packet, int64_t value)
{
	const int64_t limit = (int64_t)MAX_NUMBER;

	put(packet, value > limit ? limit : value < -limit ? -limit : value);
}

void gmt_packet_put_subtracted(struct gmt_packet *packet, uint64_t minuend, uint64_t value)
{
	put(packet, limit(minuend) - limit(value));
}

void gmt_packet_begin_header(struct gmt_packet *packet)
{
	end_column(packet);
	packet->json.file = open_memstream(&packet->header, &packet->header_bytes);
	if (!packet->json.file) {
		packet->has_failed = true;
		return;
	}
	gmt_json_begin_object(&packet->json);
}

/* Writes the list of columns and ends the header. */
static void end_header(struct gmt_packet *packet)
{
	struct gmt_json *json = &packet->json;

	gmt_json_key_array(json, "columns");
	for (size_t i = 0; i < packet->columns.count; i++) {
		const struct gmt_packet_column *column = &packet->columns.items[i];

		gmt_json_begin_object(json);
		gmt_json_key_text(json, "name", column->name);
		gmt_json_key_u64(json, "offset", column->offset);
		gmt_json_key_u64(json, "bytes", column->bytes);
		gmt_json_key_u64(json, "count", column->count);
		if (column->unit != 1)
			gmt_json_key_u64(json, "unit", column->unit);
		if (column->is_differences)
			gmt_json_key_bool(json, "differences", true);
		if (*column->less)
			gmt_json_key_text(json, "less", column->less);
		gmt_json_end_object(json);
	}
	gmt_json_end_array(json);
	gmt_json_end_object(json);
	packet->has_failed |= ferror(json->file);
	packet->has_failed |= fclose(json->file) != 0;
	json->file = NULL;
}

static bool write_content(struct gmt_packet *packet, FILE *file)
{
	struct gmt_base64 base64 = { .file = file };
	struct gmt_gzip *gzip = gmt_gzip_open(GZIP_LEVEL, gmt_base64_take, &base64);
	uint8_t length[4];

	if (!gzip)
		return false;
	gmt_put_u32(length, (uint32_t)packet->header_bytes);
	gmt_gzip_write(gzip, length, sizeof(length));
	gmt_gzip_write(gzip, packet->header, packet->header_bytes);
	gmt_gzip_write(gzip, packet->bytes.items, packet->bytes.count);
	if (!gmt_gzip_close(gzip))
		return false;
	gmt_base64_end(&base64);
	return true;
}

bool gmt_packet_write(struct gmt_packet *packet, FILE *file, const char *id)
{
	bool done;

	if (packet->json.file)
		end_header(packet);
	done = !packet->has_failed && packet->header_bytes <= UINT32_MAX;
	if (done) {
		fprintf(file, "<script type=\"application/octet-stream\" id=\"%s\">", id);
		done = write_content(packet, file);
		fputs("</script>\n", file);
	}
	free(packet->header);
	gmt_vec_fini(&packet->columns);
	gmt_vec_fini(&packet->bytes);
	gmt_vec_fini(&packet->numbers);
	return done;
}
