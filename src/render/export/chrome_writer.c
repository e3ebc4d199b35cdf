/* SPDX-License-Identifier: MIT */
#include "render/export/chrome_writer.h"

static void write_time(struct gmt_chrome *chrome, const char *key, uint64_t time_ns)
{
	gmt_json_key(&chrome->json, key);
	gmt_json_thousandths(&chrome->json, time_ns);
}

void gmt_chrome_begin(struct gmt_chrome *chrome, const char *phase, const char *name,
	uint64_t time_ns, uint32_t track)
{
	struct gmt_json *json = &chrome->json;

	gmt_json_begin_object(json);
	gmt_json_key_text(json, "ph", phase);
	gmt_json_key_text(json, "name", name);
	gmt_json_key_u64(json, "pid", chrome->export->recording->process.pid);
	gmt_json_key_u64(json, "tid", (uint64_t)track + GMT_CHROME_FIRST_TRACK);
	write_time(chrome, "ts", chrome->start_ns + time_ns);
}

void gmt_chrome_name(struct gmt_chrome *chrome, const char *what, const char *name, uint32_t track)
{
	gmt_chrome_begin(chrome, "M", what, 0, track);
	gmt_json_key_object(&chrome->json, "args");
	gmt_json_key_text(&chrome->json, "name", name);
	gmt_json_end_object(&chrome->json);
	gmt_json_end_object(&chrome->json);
}

void gmt_chrome_slice(struct gmt_chrome *chrome, const char *name, struct gmt_chrome_span span,
	uint32_t track)
{
	gmt_chrome_begin(chrome, "X", name, span.begin_ns, track);
	write_time(chrome, "dur", span.end_ns - span.begin_ns);
	gmt_json_end_object(&chrome->json);
}
