/* SPDX-License-Identifier: MIT */
#include "render/export/export.h"

enum {
	ENGINE = GMT_EXPORT_ENGINE,
	STACKS = GMT_EXPORT_STACKS,
	UNTIL = GMT_EXPORT_UNTIL,
	FROM = GMT_EXPORT_FROM,
	AT = GMT_EXPORT_AT,
	LAYERS = GMT_EXPORT_LAYER,
	LAYER = GMT_EXPORT_LAYER | GMT_EXPORT_ONE_LAYER,
	DEVICE = GMT_EXPORT_DEVICE,
	ONE_DEVICE = GMT_EXPORT_DEVICE | GMT_EXPORT_ONE_DEVICE,
	VALUE = GMT_EXPORT_VALUE,
	BY = GMT_EXPORT_BY,
	TABLE = GMT_EXPORT_TABLE,
	TO_WORK_END = GMT_EXPORT_TO_WORK_END,
	STEPS = GMT_EXPORT_STEPS,
	MAX_EVENTS = GMT_EXPORT_MAX_EVENTS,
};

const struct gmt_export_format_info gmt_export_formats[GMT_EXPORT_FORMATS] = {
#define GMT_EXPORT_FORMAT(NAME, name, suffix, kind, options, write, viewer) \
	{ name, suffix, GMT_EXPORT_##kind, options, write, viewer },
#include "render/export/export_formats.def"
#undef GMT_EXPORT_FORMAT
};
