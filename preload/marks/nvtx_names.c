/* SPDX-License-Identifier: MIT */
#include "marks/nvtx_names.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "producer/mark.h"

enum {
	TEXT_BYTES = 256 << 10, /* for all names together; unused pages cost no memory */
	SLOTS = 4096,
	PROBES = 64,
};

static struct {
	/*
	 * The recorder's handles are addresses of names in this array. The first byte is the empty
	 * name.
	 */
	char texts[TEXT_BYTES];
	_Atomic uint32_t used_bytes; /* behind the first byte */
} names; /* all zero: it takes no room in the library's file */
static const char *_Atomic by_name[SLOTS];

/* Handles of another tool. */
static struct {
	_Atomic uintptr_t handle;
	const char *_Atomic name;
} by_handle[SLOTS];

static uint32_t hash_of(const char *bytes, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 16777619;
	return hash;
}

static char *put_character(char *at, const char *end, uint32_t code)
{
	if (code >= 0x110000 || (code >= 0xd800 && code < 0xe000))
		code = 0xfffd;

	int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
	static const uint8_t lead[] = { 0, 0xc0, 0xe0, 0xf0 };

	if (end - at <= more)
		return NULL;
	*at++ = (char)(lead[more] | code >> 6 * more);
	while (more--)
		*at++ = (char)(0x80 | (code >> 6 * more & 0x3f));
	return at;
}

const char *gmt_nvtx_to_utf8(const wchar_t *wide, char to[GMT_NVTX_NAME_BYTES])
{
	char *at = to, *end = to + GMT_NVTX_NAME_BYTES - 1;

	for (; wide && *wide; wide++) {
		char *next = put_character(at, end, (uint32_t)*wide);

		if (!next)
			break;
		at = next;
	}
	*at = 0;
	return to;
}

/* Copies a name into `texts`. Returns NULL if there is no room. */
static const char *copy(const char *name, size_t length)
{
	uint32_t start = atomic_load_explicit(&names.used_bytes, memory_order_relaxed);
	char *text;

	do {
		if (1 + start + length + 1 > TEXT_BYTES)
			return NULL;
	} while (!atomic_compare_exchange_weak(&names.used_bytes, &start,
		start + (uint32_t)length + 1));
	text = names.texts + 1 + start;
	memcpy(text, name, length);
	return text;
}

static bool is_name(const char *stored, const char *name, size_t length)
{
	return strncmp(stored, name, length) == 0 && !stored[length];
}

/* Returns the only copy of a name, or the empty name if there is no room. */
static const char *store_name(const char *name)
{
	size_t length = name ? strnlen(name, GMT_NVTX_NAME_BYTES - 1) : 0;
	uint32_t slot = hash_of(name, length);
	const char *made = NULL;

	for (int probe = 0; length && probe < PROBES; probe++, slot++) {
		/* Pairs with the release below: a visible name is complete. */
		const char *stored = atomic_load_explicit(&by_name[slot % SLOTS], memory_order_acquire);

		if (!stored) {
			made = made ? made : copy(name, length);
			if (!made)
				break;
			if (atomic_compare_exchange_strong_explicit(&by_name[slot % SLOTS], &stored, made,
					memory_order_release, memory_order_acquire))
				return made;
		}
		if (is_name(stored, name, length))
			return stored;
	}
	return names.texts;
}

void *gmt_nvtx_handle(const char *name)
{
	return names.texts + (store_name(name) - names.texts);
}

void gmt_nvtx_register_handle(const void *handle, const char *name)
{
	uint32_t slot = hash_of((const char *)&handle, sizeof(handle));

	for (int probe = 0; handle && probe < PROBES; probe++, slot++) {
		uintptr_t seen =
			atomic_load_explicit(&by_handle[slot % SLOTS].handle, memory_order_relaxed);

		if (!seen)
			atomic_compare_exchange_strong(&by_handle[slot % SLOTS].handle, &seen,
				(uintptr_t)handle);
		/*
		 * Replaces the name of a known handle: a new domain may have the handle of a destroyed one.
		 */
		if (!seen || seen == (uintptr_t)handle) {
			/* Pairs with the acquire in gmt_nvtx_name. */
			atomic_store_explicit(&by_handle[slot % SLOTS].name, store_name(name),
				memory_order_release);
			return;
		}
	}
}

const char *gmt_nvtx_name(const void *handle)
{
	uint32_t slot = hash_of((const char *)&handle, sizeof(handle));
	uintptr_t address = (uintptr_t)handle;

	if (address >= (uintptr_t)names.texts && address < (uintptr_t)(names.texts + TEXT_BYTES))
		return names.texts + (address - (uintptr_t)names.texts);
	for (int probe = 0; handle && probe < PROBES; probe++, slot++) {
		uintptr_t seen =
			atomic_load_explicit(&by_handle[slot % SLOTS].handle, memory_order_relaxed);
		const char *name =
			atomic_load_explicit(&by_handle[slot % SLOTS].name, memory_order_acquire);

		if (seen == address && name)
			return name;
		if (!seen)
			break;
	}
	return "";
}

/* The numbers are those of nvToolsExt.h. */
const char *gmt_nvtx_text(int32_t type, const void *message, char buffer[GMT_NVTX_NAME_BYTES])
{
	enum { ASCII = 1, UNICODE = 2, REGISTERED = 3 };

	switch (type) {
	case ASCII:
		return message;
	case UNICODE:
		return gmt_nvtx_to_utf8(message, buffer);
	case REGISTERED:
		return gmt_nvtx_name(message);
	default:
		return NULL;
	}
}

void gmt_nvtx_full_name_init(struct gmt_nvtx_full_name *ret_name, const void *domain,
	const char *text)
{
	const char *domain_name = gmt_nvtx_name(domain);

	ret_name->text = text;
	if (domain_name[0]) {
		char *at = stpcpy(stpcpy(ret_name->buffer, domain_name), ": ");

		*stpncpy(at, text ? text : "", GMT_NVTX_NAME_BYTES) = 0;
		ret_name->text = ret_name->buffer;
	}
	ret_name->length = ret_name->text ? strnlen(ret_name->text, GMT_MARK_NAME_BYTES + 1) : 0;
}
