/* SPDX-License-Identifier: MIT */
#include "interpose/unhooked.h"

#include <stdatomic.h>
#include <stddef.h>

#include "runtime/text_without_calls.h"

static const char *const allocation_parts[] = {
#define GMT_ALLOCATION_LIKE(part) part,
#include "hooks/allocation_like.def"
#undef GMT_ALLOCATION_LIKE
};

static const char *const not_hooked[] = {
#define GMT_NOT_HOOKED(name, why) #name,
#include "hooks/not_hooked.def"
#undef GMT_NOT_HOOKED
};

static struct {
	_Atomic bool is_set; /* stored with release after the other fields */
	enum gmt_lookup_route route;
	char name[GMT_UNHOOKED_NAME_BYTES];
} entries[GMT_UNHOOKED_MAX];

static _Atomic unsigned used_count;

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns whether `rest` is empty or the suffix of a form of a function: _v2, _ptsz, _v2_ptsz. */
GMT_NO_CALLS static bool is_form_suffix(const char *rest)
{
	if (rest[0] == '_' && rest[1] == 'v' && is_digit(rest[2]))
		for (rest += 2; is_digit(*rest); rest++)
			;
	return !*rest || gmt_same_text(rest, "_ptsz") || gmt_same_text(rest, "_ptds");
}

/* Returns the length of `prefix` if `text` begins with it; otherwise 0. */
GMT_NO_CALLS static size_t prefix_length(const char *text, const char *prefix)
{
	size_t length = 0;

	while (prefix[length] && text[length] == prefix[length])
		length++;
	return prefix[length] ? 0 : length;
}

/* Returns whether the function is not hooked on purpose (not_hooked.def). */
GMT_NO_CALLS static bool is_not_hooked(const char *name)
{
	for (size_t i = 0; i < sizeof(not_hooked) / sizeof(*not_hooked); i++) {
		size_t length = prefix_length(name, not_hooked[i]);

		if (length && is_form_suffix(name + length))
			return true;
	}
	return false;
}

/* True for cuMemAlloc and cudaMalloc; false for cublasCreate and cudnnFree. */
GMT_NO_CALLS static bool is_cuda_name(const char *name)
{
	size_t length = prefix_length(name, "cuda");

	if (!length)
		length = prefix_length(name, "cu");
	return length && name[length] >= 'A' && name[length] <= 'Z';
}

GMT_NO_CALLS bool gmt_unhooked_is_candidate(const char *name)
{
	if (!is_cuda_name(name))
		return false;
	for (size_t i = 0; i < sizeof(allocation_parts) / sizeof(*allocation_parts); i++)
		for (const char *at = name; *at; at++)
			if (prefix_length(at, allocation_parts[i]))
				return !is_not_hooked(name);
	return false;
}

void gmt_unhooked_add(const char *name, enum gmt_lookup_route route)
{
	enum gmt_lookup_route known;
	const char *known_name;
	size_t length = 0;
	unsigned index;

	for (index = 0; (known_name = gmt_unhooked_get(index, &known)) != NULL; index++)
		if (known == route && gmt_same_text(known_name, name))
			return;
	if (atomic_load_explicit(&used_count, memory_order_relaxed) >= GMT_UNHOOKED_MAX)
		return;
	index = atomic_fetch_add_explicit(&used_count, 1, memory_order_relaxed);
	if (index >= GMT_UNHOOKED_MAX)
		return;
	for (; name[length] && length + 1 < GMT_UNHOOKED_NAME_BYTES; length++)
		entries[index].name[length] = name[length];
	entries[index].route = route;
	/* Pairs with the acquire in gmt_unhooked_get. */
	atomic_store_explicit(&entries[index].is_set, true, memory_order_release);
}

const char *gmt_unhooked_get(unsigned index, enum gmt_lookup_route *ret_route)
{
	if (index >= GMT_UNHOOKED_MAX ||
		!atomic_load_explicit(&entries[index].is_set, memory_order_acquire))
		return NULL;
	*ret_route = entries[index].route;
	return entries[index].name;
}
