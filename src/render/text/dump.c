/* SPDX-License-Identifier: MIT */
#include "render/text/dump.h"

#include <inttypes.h>
#include <string.h>

#include "base/safe_text.h"
#include "render/json.h"

static bool is_signed(const struct gmt_field_info *field)
{
	return field->encoding == GMT_ENCODING_SIGNED;
}

/* Escapes `[` where it would complete a command of GitHub's runner (`##[`). */
static void put_quoted(FILE *file, const struct gmt_slice *slice)
{
	fputc('"', file);
	for (uint32_t i = 0; i < slice->length; i++) {
		unsigned char character = (unsigned char)slice->text[i];

		if (character == '"' || character == '\\')
			fprintf(file, "\\%c", character);
		else if (character < 0x20 || character >= 0x7f ||
			(character == '[' &&
				gmt_safe_makes_runner_command((const unsigned char *)slice->text,
					(const unsigned char *)slice->text + i)))
			fprintf(file, "\\x%02x", character);
		else
			fputc(character, file);
	}
	fputc('"', file);
}

void gmt_dump_text(FILE *file, const struct gmt_record_info *record, const void *row)
{
	fputs(record->name, file);
	for (uint32_t f = 0; f < record->field_count; f++) {
		const struct gmt_field_info *field = &record->fields[f];
		const char *cell = (const char *)row + field->offset;
		const struct gmt_list *list = (const struct gmt_list *)cell;

		fprintf(file, " %s=", field->name);
		if (field->encoding == GMT_ENCODING_STRING) {
			put_quoted(file, (const struct gmt_slice *)cell);
		} else if (field->encoding == GMT_ENCODING_LIST) {
			fputc('[', file);
			for (uint32_t i = 0; i < list->count; i++)
				fprintf(file, "%s%" PRIu64, i ? "," : "", list->items[i]);
			fputc(']', file);
		} else if (is_signed(field)) {
			fprintf(file, "%" PRId64, (int64_t)gmt_field_number(field, cell));
		} else {
			fprintf(file, "%" PRIu64, gmt_field_number(field, cell));
		}
	}
	fputc('\n', file);
}

void gmt_dump_json(FILE *file, const struct gmt_record_info *record, const void *row)
{
	struct gmt_json json = { .file = file };

	gmt_json_begin_object(&json);
	gmt_json_key_text(&json, "record", record->name);
	for (uint32_t f = 0; f < record->field_count; f++) {
		const struct gmt_field_info *field = &record->fields[f];
		const char *cell = (const char *)row + field->offset;
		const struct gmt_slice *slice = (const struct gmt_slice *)cell;
		const struct gmt_list *list = (const struct gmt_list *)cell;

		gmt_json_key(&json, field->name);
		if (field->encoding == GMT_ENCODING_STRING) {
			gmt_json_bytes(&json, slice->text, slice->length);
		} else if (field->encoding == GMT_ENCODING_LIST) {
			gmt_json_begin_array(&json);
			for (uint32_t i = 0; i < list->count; i++)
				gmt_json_u64(&json, list->items[i]);
			gmt_json_end_array(&json);
		} else if (is_signed(field)) {
			gmt_json_i64(&json, (int64_t)gmt_field_number(field, cell));
		} else {
			gmt_json_u64(&json, gmt_field_number(field, cell));
		}
	}
	gmt_json_end_object(&json);
	fputc('\n', file);
}
