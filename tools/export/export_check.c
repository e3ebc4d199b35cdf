/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "render/export/export.h"
#include "tools/export/export_file.h"
#include "tools/output/message.h"

const char gmt_export_layer_words[] =
#define GMT_LAYER(number, NAME, name, family, meaning) "|" name
#include "format/layers.def"
#undef GMT_LAYER
	;

const char gmt_export_by_words[] =
#define GMT_TABLE_KEY(NAME, name, ...) "|" name
#include "analysis/tables/table_keys.def"
#undef GMT_TABLE_KEY
	;

/* Returns the first option that was given although the format does not have it, or NULL. */
static const char *foreign_option(const struct gmt_export_options *options,
	const struct gmt_export_format_info *format)
{
	const struct {
		const char *name;
		unsigned option;
		bool is_given;
	} rows[] = {
		{ "table", GMT_EXPORT_TABLE, options->tables.count },
		{ "partition", GMT_EXPORT_ENGINE, options->partition },
		{ "parallel", GMT_EXPORT_ENGINE, options->parallel },
		{ "python", GMT_EXPORT_ENGINE, options->python },
		{ "native", GMT_EXPORT_STACKS, options->native != GMT_EXPORT_UNSET },
		{ "owners", GMT_EXPORT_STACKS, options->owners.count },
		{ "symbol-path", GMT_EXPORT_STACKS, options->symbol_paths.count },
		{ "no-symbol-cache", GMT_EXPORT_STACKS, options->no_symbol_cache },
		{ "until", GMT_EXPORT_UNTIL, options->until.kind != GMT_MOMENT_NOT_GIVEN },
		{ "from", GMT_EXPORT_FROM, options->stretch.from.kind != GMT_MOMENT_NOT_GIVEN },
		{ "phase", GMT_EXPORT_FROM, options->stretch.phase },
		{ "at", GMT_EXPORT_AT, options->at.kind != GMT_MOMENT_NOT_GIVEN },
		{ "layer", GMT_EXPORT_LAYER, options->layer != GMT_EXPORT_UNSET },
		{ "device", GMT_EXPORT_DEVICE, options->device },
		{ "value", GMT_EXPORT_VALUE, options->value != GMT_EXPORT_UNSET },
		{ "by", GMT_EXPORT_BY, options->by != GMT_EXPORT_UNSET },
		{ "max-events", GMT_EXPORT_MAX_EVENTS, options->max_events != UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].is_given && !(format->options & rows[i].option))
			return rows[i].name;
	return NULL;
}

/* Returns the names of two options that exclude each other, as a text for a message, or NULL. */
static const char *conflict(const struct gmt_export_options *options)
{
	bool has_until = options->until.kind != GMT_MOMENT_NOT_GIVEN;
	bool is_time = options->at.kind != GMT_MOMENT_NOT_GIVEN &&
		options->at.kind != GMT_MOMENT_PEAK && options->at.kind != GMT_MOMENT_END;

	if (options->stretch.phase && options->stretch.from.kind != GMT_MOMENT_NOT_GIVEN)
		return "--from and --phase";
	if (options->stretch.phase && has_until)
		return "--until and --phase";
	if (options->stretch.phase && is_time)
		return "--at and --phase";
	return has_until && is_time ? "--at and --until" : NULL;
}

bool gmt_export_device_parse(const char *text, int32_t *ret_device)
{
	uint64_t number;

	*ret_device = GMT_DEVICE_HOST;
	if (strcmp(text, "host") == 0)
		return true;
	if (!gmt_text_parse_u64(text, &number) || number > INT16_MAX)
		return false;
	*ret_device = (int32_t)number;
	return true;
}

bool gmt_export_options_check(const struct gmt_export_options *options, const char *verb,
	const struct gmt_export_format_info *format)
{
	const char *foreign = foreign_option(options, format), *both = conflict(options);
	int32_t device;

	if (foreign)
		gmt_message_error("%s: --%s has no meaning for --format=%s", verb, foreign, format->name);
	else if (both)
		gmt_message_error("%s: %s exclude each other", verb, both);
	else if (options->device && !gmt_export_device_parse(options->device, &device))
		gmt_message_error("%s: --device: `%s` is not valid: it takes a number or `host`", verb,
			options->device);
	else if (options->at.kind != GMT_MOMENT_NOT_GIVEN &&
		options->value >= GMT_EXPORT_VALUE_ALLOCATED)
		gmt_message_error("%s: --at has no meaning for all allocations of --value", verb);
	else
		return true;
	return false;
}
