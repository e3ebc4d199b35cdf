/* SPDX-License-Identifier: MIT */
#ifndef GMT_RENDER_EXPORT_TORCH_TORCH_WRITER_H
#define GMT_RENDER_EXPORT_TORCH_TORCH_WRITER_H

/* What the parts of a PyTorch snapshot share: the pickle, and what its memo holds. */

#include "analysis/history/categories.h"
#include "render/export/torch/pickle.h"
#include "render/export/torch/torch_snapshot.h"

/* Texts that the file has once. */
#define GMT_TORCH_TEXTS(TEXT) \
	TEXT(action) \
	TEXT(addr) \
	TEXT(size) \
	TEXT(stream) \
	TEXT(time_us) \
	TEXT(frames) \
	TEXT(category) \
	TEXT(user_metadata) \
	TEXT(step) \
	TEXT(phase) \
	TEXT(filename) \
	TEXT(line) \
	TEXT(name) \
	TEXT(device_free) \
	TEXT(device) \
	TEXT(address) \
	TEXT(total_size) \
	TEXT(allocated_size) \
	TEXT(active_size) \
	TEXT(requested_size) \
	TEXT(segment_type) \
	TEXT(segment_pool_id) \
	TEXT(is_expandable) \
	TEXT(blocks) \
	TEXT(state) \
	TEXT(active_allocated) \
	TEXT(inactive) \
	TEXT(large) \
	TEXT(small)

enum gmt_torch_text {
#define GMT_TORCH_TEXT(name) GMT_TORCH_TEXT_##name,
	GMT_TORCH_TEXTS(GMT_TORCH_TEXT)
#undef GMT_TORCH_TEXT
		GMT_TORCH_TEXT_COUNT,
};

struct gmt_torch_writer {
	struct gmt_export *export;
	struct gmt_pickle pickle;
	struct gmt_pickle_list events;
	/* What the memo holds: numbers plus 1, by text, action, category, string, place and stack. */
	uint32_t text_memos[GMT_TORCH_TEXT_COUNT], action_memos[GMT_TORCH_ACTIONS];
	uint32_t category_memos[GMT_CATEGORIES];
	GMT_VEC(uint32_t) strings, places, stacks;
	int16_t device;    /* whose events this pass writes */
	uint64_t count;    /* events so far */
	uint64_t first;    /* number of the first event to write */
	uint64_t last_other_plus_1; /* number of the last block of no category, plus 1 */
	bool has_categories;
	/* the step and the phase of the last event that had any, and the memo of their dict, plus 1 */
	uint32_t step;
	const struct gmt_phase *phase;
	uint32_t metadata_memo;
	GMT_VEC(uint64_t) device_counts; /* events of each device */
};

/* Writes a text of the list above: a key, or the value of a key. */
void gmt_torch_key(struct gmt_torch_writer *writer, enum gmt_torch_text text);

void gmt_torch_key_number(struct gmt_torch_writer *writer, enum gmt_torch_text text,
	uint64_t value);
void gmt_torch_key_text(struct gmt_torch_writer *writer, enum gmt_torch_text text,
	enum gmt_torch_text value);

/* Writes the key `frames` and the frames of a stack, the innermost first. */
void gmt_torch_key_frames(struct gmt_torch_writer *writer, uint32_t stack);

/*
 * Writes the key `segments` and the state at the end of a replay: each segment with its blocks
 * (torch_state.c).
 */
enum gmt_status gmt_torch_write_segments(struct gmt_torch_writer *writer,
	const struct gmt_torch_events *events, struct gmt_error *error);

#endif
