/* SPDX-License-Identifier: MIT */
#include "render/export/frames.h"

#include <inttypes.h>
#include <string.h>

#include "base/budget.h"
#include "base/safe_text.h"
#include "base/text.h"
#include "format/format.h"

const char *gmt_export_function(const struct gmt_traces *traces, const struct gmt_place *place,
	struct gmt_export_name *buffer)
{
	const char *function = gmt_traces_string(traces, place->function);
	const char *module = gmt_traces_string(traces, place->module);

	if (*function)
		return function;
	if (!*module)
		return "[unknown]";
	gmt_text_copy(buffer->text, sizeof(buffer->text) - 2, gmt_text_base_name(module));
	memmove(buffer->text + 1, buffer->text, strlen(buffer->text) + 1);
	buffer->text[0] = '[';
	strcat(buffer->text, "]");
	return buffer->text;
}

struct gmt_export_name gmt_export_profile(const struct gmt_profile *profile, int32_t device,
	enum gmt_profile_value value)
{
	struct gmt_export_name name;

	snprintf(name.text, sizeof(name.text), "%s, %s, %s", gmt_profile_values[value].title,
		gmt_layer_name(profile->choice.layer), gmt_device_text(device).text);
	return name;
}

void gmt_export_line(FILE *file, const char *text, const char *separators)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t left = gmt_budget_spend_text(strlen(text));

	while (left) {
		size_t skip, length = gmt_safe_character_length(at, left, &skip);

		if (!length || gmt_safe_makes_runner_command((const unsigned char *)text, at))
			fputc('?', file);
		else if (length == 1)
			putc(strchr(separators, *at) ? ':' : *at, file);
		else
			fwrite(at, 1, length, file);
		at += length ? length : skip;
		left -= length ? length : skip;
	}
}

void gmt_export_frame(FILE *file, const struct gmt_traces *traces, uint32_t place_id,
	const char *separators)
{
	const struct gmt_place *place = gmt_traces_place(traces, place_id);
	const char *path = gmt_traces_string(traces, place->file);
	struct gmt_export_name buffer;

	gmt_export_line(file, gmt_export_function(traces, place, &buffer), separators);
	if (!*path)
		return;
	fputs(" (", file);
	gmt_export_line(file, gmt_text_base_name(path), separators);
	if (place->line)
		fprintf(file, ":%" PRIu32, place->line);
	fputc(')', file);
}
