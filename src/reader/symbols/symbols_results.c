/* SPDX-License-Identifier: MIT */
#include "reader/symbols/symbols_results.h"

#include <stdlib.h>
#include <string.h>

#include "containers/bisect.h"

/* Bytes of another byte order, or another version of this format, have a different number. */
static const uint64_t magic = 0x3173626d79735347;

struct header {
	uint64_t magic;
	uint64_t hash; /* of all bytes after it */
	uint32_t address_count, frame_count, text_bytes;
	uint32_t zero;
};

static uint64_t hash_of(const uint8_t *bytes, size_t size)
{
	size_t from = offsetof(struct header, address_count);

	return gmt_hash_bytes(bytes + from, size - from);
}

/* Returns whether all offsets and indexes in the table are in range. */
static bool is_sound(const struct gmt_symbols_results_table *table)
{
	for (uint32_t i = 0; i < table->address_count; i++) {
		const struct gmt_symbols_results_address *at = &table->addresses[i];

		if ((i && at->address <= at[-1].address) || !at->count ||
			at->count > GMT_SYMBOLS_MAX_FRAMES || at->first > table->frame_count ||
			at->count > table->frame_count - at->first)
			return false;
	}
	for (uint32_t i = 0; i < table->frame_count; i++)
		if (table->frames[i].function >= table->text_bytes ||
			table->frames[i].file >= table->text_bytes)
			return false;
	return true;
}

bool gmt_symbols_results_load(struct gmt_symbols_results *results, const void *bytes, size_t size,
	const char *key)
{
	const struct header *header = bytes;

	if (size < sizeof(*header) || size > GMT_SYMBOLS_RESULTS_MAX_BYTES || header->magic != magic)
		return false;

	struct gmt_symbols_results_table table = {
		.address_count = header->address_count,
		.frame_count = header->frame_count,
		.text_bytes = header->text_bytes,
	};
	size_t addresses = (size_t)table.address_count * sizeof(*table.addresses);
	size_t frames = (size_t)table.frame_count * sizeof(*table.frames);

	if (sizeof(*header) + addresses + frames + table.text_bytes != size || !table.text_bytes ||
		header->zero || header->hash != hash_of(bytes, size))
		return false;
	table.addresses = (const void *)((const uint8_t *)bytes + sizeof(*header));
	table.frames = (const void *)((const uint8_t *)table.addresses + addresses);
	table.texts = (const char *)table.frames + frames;
	if (table.texts[table.text_bytes - 1] || strcmp(table.texts, key) != 0 || !is_sound(&table))
		return false;
	results->earlier = table;
	return true;
}

static const struct gmt_symbols_results_address *find_earlier(
	const struct gmt_symbols_results_table *table, uint64_t address)
{
	size_t low = GMT_BISECT(at, table->address_count, table->addresses[at].address < address);

	return low < table->address_count && table->addresses[low].address == address
		? &table->addresses[low]
		: NULL;
}

/* Returns a text of a frame that was added in this run. */
static const char *added_text(const struct gmt_symbols_results *results, uint32_t id_plus_1)
{
	return id_plus_1 ? gmt_intern_get(&results->texts, id_plus_1 - 1)->bytes : NULL;
}

static const char *earlier_text(const struct gmt_symbols_results *results, uint32_t start)
{
	return start ? results->earlier.texts + start : NULL;
}

size_t gmt_symbols_results_find(const struct gmt_symbols_results *results, uint64_t address,
	struct gmt_symbols_frame ret_frames[GMT_SYMBOLS_MAX_FRAMES])
{
	const struct gmt_symbols_results_address *at = find_earlier(&results->earlier, address);
	const struct gmt_symbols_results_frame *frames = results->earlier.frames;
	const char *(*text)(const struct gmt_symbols_results *results, uint32_t number) = earlier_text;
	uint64_t place;

	if (!at) {
		if (!gmt_map_find(&results->places, address, &place))
			return 0;
		at = &results->addresses.items[place];
		frames = results->frames.items;
		text = added_text;
	}
	for (uint32_t i = 0; i < at->count; i++) {
		const struct gmt_symbols_results_frame *frame = &frames[at->first + i];

		ret_frames[i] = (struct gmt_symbols_frame){
			.function = text(results, frame->function),
			.file = text(results, frame->file),
			.line = frame->line,
		};
	}
	return at->count;
}

static bool intern(struct gmt_intern *texts, const char *text, uint32_t *ret_id_plus_1)
{
	uint32_t id;

	*ret_id_plus_1 = 0;
	if (!text)
		return true;
	if (!gmt_intern_text(texts, text, &id))
		return false;
	*ret_id_plus_1 = id + 1;
	return true;
}

bool gmt_symbols_results_add(struct gmt_symbols_results *results, uint64_t address,
	const struct gmt_symbols_frame *frames, size_t count)
{
	struct gmt_symbols_results_address added = {
		.address = address,
		.first = (uint32_t)results->frames.count,
		.count = (uint32_t)count,
	};

	if (!gmt_vec_reserve(&results->addresses, 1) || !gmt_vec_reserve(&results->frames, count))
		return false;
	for (size_t i = 0; i < count; i++) {
		struct gmt_symbols_results_frame *frame = &results->frames.items[added.first + i];

		*frame = (struct gmt_symbols_results_frame){ .line = frames[i].line };
		if (!intern(&results->texts, frames[i].function, &frame->function) ||
			!intern(&results->texts, frames[i].file, &frame->file))
			return false;
	}
	if (!gmt_map_put(&results->places, address, results->addresses.count))
		return false;
	results->addresses.items[results->addresses.count++] = added;
	results->frames.count += count;
	return true;
}

bool gmt_symbols_results_is_new(const struct gmt_symbols_results *results)
{
	return results->addresses.count;
}

/*
 * The results while they become bytes. Texts are ids of `texts` plus 1, and become offsets at the
 * end.
 */
struct builder {
	const char *key;
	struct gmt_intern texts;
	GMT_VEC(struct gmt_symbols_results_address) addresses;
	GMT_VEC(struct gmt_symbols_results_frame) frames;
	GMT_VEC(uint32_t) starts; /* offsets of the texts, by id */
};

static bool append(struct builder *builder, const struct gmt_symbols_results *results,
	uint64_t address)
{
	struct gmt_symbols_frame frames[GMT_SYMBOLS_MAX_FRAMES];
	size_t count = gmt_symbols_results_find(results, address, frames);
	struct gmt_symbols_results_address *at = gmt_vec_push(&builder->addresses);

	if (!at)
		return false;
	*at = (struct gmt_symbols_results_address){ address, (uint32_t)builder->frames.count,
		(uint32_t)count };
	for (size_t i = 0; i < count; i++) {
		struct gmt_symbols_results_frame *frame = gmt_vec_push(&builder->frames);

		if (!frame || !intern(&builder->texts, frames[i].function, &frame->function) ||
			!intern(&builder->texts, frames[i].file, &frame->file))
			return false;
		frame->line = frames[i].line;
	}
	return true;
}

static int by_address(const void *left, const void *right)
{
	const struct gmt_symbols_results_address *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/*
 * Computes where each text starts. Returns the length of all texts, or 0 if it is too much or
 * memory is out.
 */
static size_t place_texts(struct builder *builder)
{
	/* The key comes first, so no other text has offset 0, which means unknown. */
	size_t bytes = strlen(builder->key) + 1, count = builder->texts.entries.count;

	if (!gmt_vec_reserve(&builder->starts, count))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		builder->starts.items[i] = (uint32_t)bytes;
		bytes += (size_t)gmt_intern_get(&builder->texts, i)->length + 1;
		if (bytes > GMT_SYMBOLS_RESULTS_MAX_BYTES)
			return 0;
	}
	return bytes;
}

/* Copies bytes, and returns the address after them. `bytes` may be NULL if `size` is 0. */
static uint8_t *put(uint8_t *at, const void *bytes, size_t size)
{
	return size ? (uint8_t *)mempcpy(at, bytes, size) : at;
}

static bool write_bytes(struct builder *builder, gmt_symbols_results_bytes *bytes)
{
	size_t text_bytes = place_texts(builder);
	size_t addresses = builder->addresses.count * sizeof(*builder->addresses.items);
	size_t frames = builder->frames.count * sizeof(*builder->frames.items);
	size_t size = sizeof(struct header) + addresses + frames + text_bytes;

	if (!text_bytes || size > GMT_SYMBOLS_RESULTS_MAX_BYTES || !gmt_vec_reserve(bytes, size))
		return false;
	for (size_t i = 0; i < builder->frames.count; i++) {
		struct gmt_symbols_results_frame *frame = &builder->frames.items[i];

		frame->function = frame->function ? builder->starts.items[frame->function - 1] : 0;
		frame->file = frame->file ? builder->starts.items[frame->file - 1] : 0;
	}

	struct header *header = (void *)bytes->items;
	uint8_t *at = bytes->items + sizeof(*header);

	*header = (struct header){
		.magic = magic,
		.address_count = (uint32_t)builder->addresses.count,
		.frame_count = (uint32_t)builder->frames.count,
		.text_bytes = (uint32_t)text_bytes,
	};
	at = put(at, builder->addresses.items, addresses);
	at = put(at, builder->frames.items, frames);
	at = put(at, builder->key, strlen(builder->key) + 1);
	for (uint32_t i = 0; i < builder->texts.entries.count; i++) {
		const struct gmt_interned *text = gmt_intern_get(&builder->texts, i);

		at = put(at, text->bytes, text->length + 1);
	}
	bytes->count = size;
	header->hash = hash_of(bytes->items, size);
	return true;
}

static bool make(const struct gmt_symbols_results *results, const char *key, bool with_earlier,
	gmt_symbols_results_bytes *bytes)
{
	struct builder builder = { .key = key };
	bool done = true;

	for (uint32_t i = 0; done && with_earlier && i < results->earlier.address_count; i++)
		done = append(&builder, results, results->earlier.addresses[i].address);
	for (size_t i = 0; done && i < results->addresses.count; i++)
		done = append(&builder, results, results->addresses.items[i].address);
	if (done && builder.addresses.count)
		qsort(builder.addresses.items, builder.addresses.count, sizeof(*builder.addresses.items),
			by_address);
	done = done && write_bytes(&builder, bytes);
	gmt_intern_fini(&builder.texts);
	gmt_vec_fini(&builder.addresses);
	gmt_vec_fini(&builder.frames);
	gmt_vec_fini(&builder.starts);
	return done;
}

bool gmt_symbols_results_encode(const struct gmt_symbols_results *results, const char *key,
	gmt_symbols_results_bytes *ret_bytes)
{
	return make(results, key, true, ret_bytes) || make(results, key, false, ret_bytes);
}

void gmt_symbols_results_fini(struct gmt_symbols_results *results)
{
	gmt_vec_fini(&results->addresses);
	gmt_vec_fini(&results->frames);
	gmt_intern_fini(&results->texts);
	gmt_map_fini(&results->places);
	results->earlier = (struct gmt_symbols_results_table){ 0 };
}
