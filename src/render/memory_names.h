/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_MEMORY_NAMES_H
#define GMT_RENDER_MEMORY_NAMES_H

/* Names of memory spaces and devices in reports. */

#include <stdint.h>

#include "render/json.h"

struct gmt_space_text {
	char text[24];
};

struct gmt_device_text {
	char text[24];
};

/* Returns the name of a space; "space-9" for a space that this version does not know. */
struct gmt_space_text gmt_space_text(uint32_t space);

/* Returns a name for tables: "GPU 0", "unknown GPU" or "host memory". */
struct gmt_device_text gmt_device_text(int32_t device);

/* Returns a name for sentences, to follow the word "on": "GPU 0", "an unknown GPU", "the host". */
struct gmt_device_text gmt_device_in_sentence(int32_t device);

/* Writes the key "device" and its ordinal, or null for the host. */
void gmt_json_key_device(struct gmt_json *json, int32_t device);

#endif
