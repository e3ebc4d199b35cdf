/* SPDX-License-Identifier: MIT */
#include "analysis/compare/site_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/tables/short_names.h"
#include "analysis/compare/site_key_names.h"
#include "base/safe_text.h"
#include "reader/symbols/symbols_interpreter_loop.h"

enum { MAX_REPETITION = 8 };

struct builder {
	struct gmt_site_keys *keys;
	const struct gmt_recording *recording;
	const struct gmt_traces *traces;
	GMT_VEC(bool) place_is_comprehension; /* by place */
	GMT_VEC(bool) place_is_interpreter_or_libc; /* by place: frame of the interpreter or of libc */
	GMT_VEC(uint32_t) frames; /* frames of the current stack: ids in texts */
};

/*
 * Returns whether traces.c generated this name for an address without a name: "lib.so+0x12",
 * "0x12".
 */
static bool is_unnamed(const char *function, const char *module)
{
	const char *slash = strrchr(module, '/');
	const char *base = slash ? slash + 1 : module;
	size_t length = strlen(base);

	if (*module && strncmp(function, base, length) == 0 && function[length] == '+')
		function += length + 1;
	if (strncmp(function, "0x", 2) != 0)
		return false;
	return strspn(function + 2, "0123456789abcdef") == strlen(function + 2);
}

/* Returns whether the function is a comprehension. Its caller is the function that contains it. */
static bool is_comprehension(const char *function)
{
	static const char *const names[] = { "<listcomp>", "<dictcomp>", "<setcomp>" };
	const char *last = strrchr(function, '<');

	for (size_t i = 0; last && i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(last, names[i]) == 0)
			return true;
	return false;
}

static bool is_interpreter_or_libc(const char *module, const char *function)
{
	static const char *const modules[] = {
		"python",
		"libpython.so",
		"libc.so",
		"libpthread.so",
		"ld-linux-x86-64.so",
		"ld-linux-aarch64.so",
	};

	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		if (strcmp(module, modules[i]) == 0)
			return true;
	return strcmp(function, "_start") == 0 ||
		strncmp(function, GMT_INTERPRETER_LOOP, strlen(GMT_INTERPRETER_LOOP)) == 0;
}

static bool name_place(struct builder *builder, uint32_t id)
{
	const struct gmt_place *place = gmt_traces_place(builder->traces, id);
	const char *function = gmt_traces_string(builder->traces, place->function);
	const char *module = gmt_traces_string(builder->traces, place->module);
	char left[1024], right[1024], text[2 * 1024 + 2];

	if (place->kind == GMT_PLACE_PYTHON) {
		gmt_site_key_file(builder->recording->directory,
			gmt_traces_string(builder->traces, place->file), left, sizeof(left));
		snprintf(right, sizeof(right), "%s", function);
		builder->place_is_comprehension.items[id] = is_comprehension(function);
	} else {
		gmt_site_key_module(module, left, sizeof(left));
		gmt_short_name_of_function(function, right, sizeof(right));
		if (is_unnamed(function, module))
			right[0] = 0;
		builder->place_is_interpreter_or_libc.items[id] = is_interpreter_or_libc(left, right);
	}
	snprintf(text, sizeof(text), "%s%s%s", left, *right ? ":" : "", right);
	/* A baseline is a text file. Unprintable characters would not be read back unchanged. */
	gmt_safe_replace(text);
	return gmt_intern_text(&builder->keys->texts, text, &builder->keys->places.items[id]);
}

/* If the frames end with the same sequence twice, removes the second one. */
static void drop_repetition(struct builder *builder)
{
	uint32_t *items = builder->frames.items;
	size_t count = builder->frames.count;

	for (size_t length = 1; length <= MAX_REPETITION && length * 2 <= count; length++)
		if (items[count - 1] == items[count - 1 - length] &&
			memcmp(items + count - length, items + count - 2 * length, length * sizeof(*items)) ==
				0) {
			builder->frames.count -= length;
			return;
		}
}

static bool list_frames(struct builder *builder, const uint32_t *places, uint32_t count,
	bool with_plumbing)
{
	builder->frames.count = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t *slot;

		if (builder->place_is_comprehension.items[places[i]] ||
			(!with_plumbing && builder->place_is_interpreter_or_libc.items[places[i]]))
			continue;
		if (!(slot = gmt_vec_push(&builder->frames)))
			return false;
		*slot = builder->keys->places.items[places[i]];
		drop_repetition(builder);
	}
	return true;
}

/*
 * Own hash function, not that of containers/map.h: baselines store this hash, and map.h may change
 * its hash.
 */
static uint64_t hash_text(uint64_t hash, const char *text)
{
	do {
		hash ^= (unsigned char)(*text ? *text : '\n');
		hash *= 0x100000001b3u;
	} while (*text++);
	return hash;
}

static const char *text_of(const struct gmt_site_keys *keys, uint32_t id)
{
	return gmt_intern_get(&keys->texts, id)->bytes;
}

static bool name_stack(struct builder *builder, uint32_t stack)
{
	struct gmt_site_key *key = &builder->keys->stacks.items[stack];
	uint32_t count, own = gmt_traces_own_line(builder->traces, stack);
	const uint32_t *places = gmt_traces_stack(builder->traces, stack, &count);

	if (!list_frames(builder, places, count, false) ||
		(!builder->frames.count && !list_frames(builder, places, count, true)))
		return false;
	key->hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < builder->frames.count; i++)
		key->hash = hash_text(key->hash, text_of(builder->keys, builder->frames.items[i]));
	while (own + 1 < count && builder->place_is_comprehension.items[places[own]])
		own++;
	key->group = count ? text_of(builder->keys, builder->keys->places.items[places[own]]) : "";
	return true;
}

enum gmt_status gmt_site_keys_compute(struct gmt_site_keys *ret_keys,
	const struct gmt_recording *recording, const struct gmt_traces *traces, struct gmt_error *error)
{
	struct builder builder = { .keys = ret_keys, .recording = recording, .traces = traces };
	size_t places = traces->places.entries.count, stacks = traces->stacks.entries.count;
	/* gmt_vec_reserve returns zeroed items. They are indexed, never pushed. */
	bool done = gmt_vec_reserve(&ret_keys->places, places + 1) &&
		gmt_vec_reserve(&ret_keys->stacks, stacks + 1) &&
		gmt_vec_reserve(&builder.place_is_comprehension, places + 1) &&
		gmt_vec_reserve(&builder.place_is_interpreter_or_libc, places + 1);

	for (uint32_t id = 0; done && id < places; id++)
		done = name_place(&builder, id);
	for (uint32_t stack = 0; done && stack < stacks; stack++)
		done = name_stack(&builder, stack);
	ret_keys->places.count = places;
	ret_keys->stacks.count = stacks;
	gmt_vec_fini(&builder.place_is_comprehension);
	gmt_vec_fini(&builder.place_is_interpreter_or_libc);
	gmt_vec_fini(&builder.frames);
	if (done)
		return GMT_OK;
	gmt_site_keys_fini(ret_keys);
	return gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
}

const struct gmt_site_key *gmt_site_keys_stack(const struct gmt_site_keys *keys, uint32_t stack)
{
	return &keys->stacks.items[stack];
}

const char *gmt_site_keys_place(const struct gmt_site_keys *keys, uint32_t place)
{
	return text_of(keys, keys->places.items[place]);
}

void gmt_site_keys_fini(struct gmt_site_keys *keys)
{
	gmt_vec_fini(&keys->places);
	gmt_vec_fini(&keys->stacks);
	gmt_intern_fini(&keys->texts);
}

struct gmt_site_key_text gmt_site_key_text(uint64_t hash)
{
	struct gmt_site_key_text text;

	snprintf(text.text, sizeof(text.text), "%016" PRIx64, hash);
	return text;
}
