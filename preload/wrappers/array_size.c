/* SPDX-License-Identifier: MIT */
#include "wrappers/array_size.h"

#include <stddef.h>

enum {
	LAYERED = 0x01,             /* CUDA_ARRAY3D_LAYERED: the depth counts layers */
	CUBEMAP = 0x04,             /* CUDA_ARRAY3D_CUBEMAP: the same */
	MAPPED_LATER = 0x40 | 0x80, /* CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_DEFERRED_MAPPING */
};

static const struct element {
	uint8_t format, side, bytes;
	enum { CHANNELS, WHOLE } channels;
} elements[] = {
#define GMT_ARRAY_FORMAT(number, name, side, bytes, channels) { number, side, bytes, channels },
#include "wrappers/array_formats.def"
#undef GMT_ARRAY_FORMAT
};

static uint64_t multiply(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t at_least_one(uint64_t count)
{
	return count ? count : 1;
}

/* Returns how many squares of `side` elements cover the extent. */
static uint64_t count_squares(uint64_t extent, unsigned side)
{
	return extent / side + (extent % side != 0);
}

static const struct element *find_element(unsigned format)
{
	for (size_t i = 0; i < sizeof(elements) / sizeof(*elements); i++)
		if (elements[i].format == format)
			return &elements[i];
	return NULL;
}

uint64_t gmt_array_bytes(const struct gmt_array_shape *shape)
{
	const struct element *element = find_element(shape->format);
	uint64_t bytes;

	if (!element || shape->flags & MAPPED_LATER)
		return 0;
	bytes = multiply(count_squares(shape->width, element->side),
		count_squares(at_least_one(shape->height), element->side));
	bytes = multiply(bytes, at_least_one(shape->depth));
	return multiply(bytes,
		(uint64_t)element->bytes * (element->channels == CHANNELS ? shape->channels : 1));
}

/* Returns the number of levels until the largest extent is 1. */
static unsigned count_max_levels(const struct gmt_array_shape *shape)
{
	uint64_t largest =
		shape->width | shape->height | (shape->flags & (LAYERED | CUBEMAP) ? 0 : shape->depth);
	unsigned levels = 1;

	for (; largest > 1; largest /= 2)
		levels++;
	return levels;
}

static uint64_t half(uint64_t extent)
{
	return extent > 1 ? extent / 2 : extent;
}

uint64_t gmt_mipmap_bytes(const struct gmt_array_shape *shape, unsigned levels)
{
	struct gmt_array_shape level = *shape;
	unsigned max_levels = count_max_levels(shape);
	uint64_t total = 0;

	levels = levels < 1 ? 1 : levels < max_levels ? levels : max_levels;
	for (unsigned i = 0; i < levels; i++) {
		uint64_t bytes = gmt_array_bytes(&level);

		total = bytes > UINT64_MAX - total ? UINT64_MAX : total + bytes;
		level.width = half(level.width);
		level.height = half(level.height);
		if (!(level.flags & (LAYERED | CUBEMAP)))
			level.depth = half(level.depth);
	}
	return total;
}

uint64_t gmt_channel_bytes(uint64_t bits, uint64_t width, uint64_t height, uint64_t depth)
{
	uint64_t elements_count = multiply(multiply(width, at_least_one(height)), at_least_one(depth));

	return multiply(elements_count, bits) / 8;
}
