/* SPDX-License-Identifier: MIT */
#include "render/memory_names.h"

#include <inttypes.h>
#include <stdio.h>

#include "format/format.h"

struct gmt_space_text gmt_space_text(uint32_t space)
{
	struct gmt_space_text text;
	const char *name = gmt_space_name(space);

	if (name)
		snprintf(text.text, sizeof(text.text), "%s", name);
	else
		snprintf(text.text, sizeof(text.text), "space-%u", space);
	return text;
}

struct gmt_device_text gmt_device_text(int32_t device)
{
	struct gmt_device_text text;

	if (device == GMT_DEVICE_HOST)
		snprintf(text.text, sizeof(text.text), "host memory");
	else if (device < 0)
		snprintf(text.text, sizeof(text.text), "unknown GPU");
	else
		snprintf(text.text, sizeof(text.text), "GPU %" PRId32, device);
	return text;
}

struct gmt_device_text gmt_device_in_sentence(int32_t device)
{
	struct gmt_device_text text;

	if (device == GMT_DEVICE_HOST)
		snprintf(text.text, sizeof(text.text), "the host");
	else if (device < 0)
		snprintf(text.text, sizeof(text.text), "an unknown GPU");
	else
		snprintf(text.text, sizeof(text.text), "GPU %" PRId32, device);
	return text;
}

void gmt_json_key_device(struct gmt_json *json, int32_t device)
{
	gmt_json_key(json, "device");
	if (device == GMT_DEVICE_HOST)
		gmt_json_null(json);
	else
		gmt_json_i64(json, device);
}
