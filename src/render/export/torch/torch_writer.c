/* SPDX-License-Identifier: MIT */
#include "render/export/torch/torch_writer.h"

#include "render/export/frames.h"

static const char *const texts[GMT_TORCH_TEXT_COUNT] = {
#define TEXT(name) #name,
	GMT_TORCH_TEXTS(TEXT)
#undef TEXT
};

void gmt_torch_key(struct gmt_torch_writer *writer, enum gmt_torch_text text)
{
	gmt_pickle_memo_text(&writer->pickle, texts[text], &writer->text_memos[text]);
}

void gmt_torch_key_number(struct gmt_torch_writer *writer, enum gmt_torch_text text, uint64_t value)
{
	gmt_torch_key(writer, text);
	gmt_pickle_number(&writer->pickle, value);
}

void gmt_torch_key_text(struct gmt_torch_writer *writer, enum gmt_torch_text text,
	enum gmt_torch_text value)
{
	gmt_torch_key(writer, text);
	gmt_torch_key(writer, value);
}

static void write_place(struct gmt_torch_writer *writer, uint32_t id)
{
	const struct gmt_traces *traces = writer->export->traces;
	const struct gmt_place *place = gmt_traces_place(traces, id);
	struct gmt_export_name buffer;
	const char *function = gmt_export_function(traces, place, &buffer);

	if (writer->places.items[id]) {
		gmt_pickle_get(&writer->pickle, writer->places.items[id]);
		return;
	}
	gmt_pickle_begin_dict(&writer->pickle);
	gmt_torch_key(writer, GMT_TORCH_TEXT_filename);
	gmt_pickle_memo_text(&writer->pickle, gmt_traces_string(traces, place->file),
		&writer->strings.items[place->file]);
	gmt_torch_key_number(writer, GMT_TORCH_TEXT_line, place->line);
	gmt_torch_key(writer, GMT_TORCH_TEXT_name);
	if (function == buffer.text)
		gmt_pickle_text(&writer->pickle, function);
	else
		gmt_pickle_memo_text(&writer->pickle, function,
			place->function ? &writer->strings.items[place->function] : &(uint32_t){ 0 });
	gmt_pickle_end_dict(&writer->pickle);
	writer->places.items[id] = gmt_pickle_memoize(&writer->pickle);
}

void gmt_torch_key_frames(struct gmt_torch_writer *writer, uint32_t stack)
{
	struct gmt_pickle_list list;
	uint32_t count = 0;
	const uint32_t *places = NULL;

	gmt_torch_key(writer, GMT_TORCH_TEXT_frames);
	if (stack != GMT_TORCH_NO_STACK) {
		if (writer->stacks.items[stack]) {
			gmt_pickle_get(&writer->pickle, writer->stacks.items[stack]);
			return;
		}
		places = gmt_traces_stack(writer->export->traces, stack, &count);
	}
	list = gmt_pickle_begin_list(&writer->pickle);
	for (uint32_t i = 0; i < count; i++) {
		gmt_pickle_item(&writer->pickle, &list);
		write_place(writer, places[i]);
	}
	gmt_pickle_end_list(&writer->pickle, &list);
	if (stack != GMT_TORCH_NO_STACK)
		writer->stacks.items[stack] = gmt_pickle_memoize(&writer->pickle);
}
