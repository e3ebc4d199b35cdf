/* SPDX-License-Identifier: MIT */
#include "format/format.h"

#include <string.h>

#define GMT_RECORD_TABLES "format/records.def"
#define GMT_RECORD_TABLES_FIRST 0
#include "format/record_tables.h"

uint32_t gmt_record_number_end(void)
{
	return sizeof(records) / sizeof(*records);
}

const struct gmt_record_info *gmt_record_info(uint32_t number)
{
	return number < gmt_record_number_end() && records[number].name ? &records[number] : NULL;
}

const struct gmt_field_info *gmt_record_field(const struct gmt_record_info *record,
	const char *name)
{
	for (uint32_t f = 0; f < record->field_count; f++)
		if (strcmp(record->fields[f].name, name) == 0)
			return &record->fields[f];
	return NULL;
}

#define NAME_OR_NULL(names, number) \
	((number) < sizeof(names) / sizeof(*(names)) ? (names)[number] : NULL)

const char *gmt_layer_name(unsigned layer)
{
	static const char *const names[] = {
#define GMT_LAYER(number, NAME, name, ...) [number] = name,
#include "format/layers.def"
#undef GMT_LAYER
	};

	return NAME_OR_NULL(names, layer);
}

const char *gmt_space_name(unsigned space)
{
	static const char *const names[] = {
#define GMT_SPACE(number, NAME, name, ...) [number] = name,
#include "format/spaces.def"
#undef GMT_SPACE
	};

	return NAME_OR_NULL(names, space);
}

const char *gmt_event_kind_name(unsigned kind)
{
	static const char *const names[] = {
#define GMT_KIND(number, NAME, name, ...) [number] = name,
#include "format/event_kinds.def"
#undef GMT_KIND
	};

	return NAME_OR_NULL(names, kind);
}

const char *gmt_mark_kind_name(unsigned kind)
{
	static const char *const names[] = {
#define GMT_MARK_KIND(number, NAME, name, meaning) [number] = name,
#include "format/mark_kinds.def"
#undef GMT_MARK_KIND
	};

	return NAME_OR_NULL(names, kind);
}

const char *gmt_mark_source_name(unsigned source)
{
	static const char *const names[] = {
#define GMT_MARK_SOURCE(number, NAME, name, meaning) [number] = name,
#include "format/mark_sources.def"
#undef GMT_MARK_SOURCE
	};

	return NAME_OR_NULL(names, source);
}

const struct gmt_space_traits gmt_spaces[GMT_SPACE_COUNT] = {
	[0] = { .layer = GMT_LAYER_CUDA },
#define GMT_SPACE(number, NAME, name, in_side, in_layer, in_realm, in_life, meaning) \
	[number] = { GMT_SIDE_##in_side, GMT_LAYER_##in_layer, GMT_REALM_##in_realm, \
		GMT_LIFE_##in_life },
#include "format/spaces.def"
#undef GMT_SPACE
};

bool gmt_layer_can_leak(unsigned layer)
{
	return layer != GMT_LAYER_DRIVER && layer != GMT_LAYER_VIEW;
}

enum { GMT_KIND_NONE };

static const uint8_t failures[] = {
#define GMT_KIND(number, NAME, name, when, if_refused, meaning) [number] = GMT_KIND_##if_refused,
#include "format/event_kinds.def"
#undef GMT_KIND
};

unsigned gmt_event_kind_failure(unsigned kind)
{
	return kind < sizeof(failures) ? failures[kind] : GMT_KIND_NONE;
}
