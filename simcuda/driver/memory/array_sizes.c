/* SPDX-License-Identifier: MIT */
#include "array.h"

/* The size of arrays: the bytes of a description, its levels and its planes. */

static size_t channel_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return 1;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4;
	default:
		return 0;
	}
}

/* Returns the bytes of an element for formats that define their number of channels. */
static size_t normalized_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_UNORM_INT8X1:
	case CU_AD_FORMAT_SNORM_INT8X1:
		return 1;
	case CU_AD_FORMAT_UNORM_INT8X2:
	case CU_AD_FORMAT_SNORM_INT8X2:
	case CU_AD_FORMAT_UNORM_INT16X1:
	case CU_AD_FORMAT_SNORM_INT16X1:
		return 2;
	case CU_AD_FORMAT_UNORM_INT8X4:
	case CU_AD_FORMAT_SNORM_INT8X4:
	case CU_AD_FORMAT_UNORM_INT16X2:
	case CU_AD_FORMAT_SNORM_INT16X2:
		return 4;
	case CU_AD_FORMAT_UNORM_INT16X4:
	case CU_AD_FORMAT_SNORM_INT16X4:
		return 8;
	default:
		return 0;
	}
}

/* Returns the bytes of a square of 4 x 4 elements in a compressed format. */
static size_t square_bytes(CUarray_format format)
{
	switch (format) {
	case CU_AD_FORMAT_BC1_UNORM:
	case CU_AD_FORMAT_BC1_UNORM_SRGB:
	case CU_AD_FORMAT_BC4_UNORM:
	case CU_AD_FORMAT_BC4_SNORM:
		return 8;
	case CU_AD_FORMAT_BC2_UNORM:
	case CU_AD_FORMAT_BC2_UNORM_SRGB:
	case CU_AD_FORMAT_BC3_UNORM:
	case CU_AD_FORMAT_BC3_UNORM_SRGB:
	case CU_AD_FORMAT_BC5_UNORM:
	case CU_AD_FORMAT_BC5_SNORM:
	case CU_AD_FORMAT_BC6H_UF16:
	case CU_AD_FORMAT_BC6H_SF16:
	case CU_AD_FORMAT_BC7_UNORM:
	case CU_AD_FORMAT_BC7_UNORM_SRGB:
		return 16;
	default:
		return 0;
	}
}

static size_t at_least_one(size_t count)
{
	return count ? count : 1;
}

/* Returns whether the array has layers. A smaller level has the same number of layers. */
static bool has_layers(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	return descriptor->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
}

size_t sim_array_element_bytes(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	unsigned int channels = descriptor->NumChannels;

	if (channel_bytes(descriptor->Format))
		return channels == 1 || channels == 2 || channels == 4
			? channel_bytes(descriptor->Format) * channels
			: 0;
	return normalized_bytes(descriptor->Format);
}

/* Multiplies `*product` by `factor`. Returns false on overflow. */
static bool multiply(size_t *product, size_t factor)
{
	return !__builtin_mul_overflow(*product, factor, product) && *product <= SIZE_MAX / 2;
}

size_t sim_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *descriptor, unsigned int level)
{
	CUDA_ARRAY3D_DESCRIPTOR own = sim_array_level(descriptor, level);
	size_t width = own.Width, height = at_least_one(own.Height), depth = at_least_one(own.Depth);
	size_t unit_bytes = sim_array_element_bytes(descriptor);

	if (descriptor->Width == 0)
		return 0;
	if (square_bytes(descriptor->Format)) {
		unit_bytes = square_bytes(descriptor->Format);
		width = width / 4 + (width % 4 != 0);
		height = height / 4 + (height % 4 != 0);
	} else if (descriptor->Format == CU_AD_FORMAT_NV12) {
		/* One byte for each pixel, and two bytes for each square of four pixels. */
		unit_bytes = 1;
		if (descriptor->NumChannels != 3 || !multiply(&height, 3))
			return 0;
		height /= 2;
	}
	if (unit_bytes == 0)
		return 0;
	size_t size_bytes = unit_bytes;
	return multiply(&size_bytes, width) && multiply(&size_bytes, height) &&
			multiply(&size_bytes, depth)
		? size_bytes
		: SIZE_MAX / 2;
}

static size_t shrink(size_t count, unsigned int level)
{
	return count ? at_least_one(count >> level) : 0;
}

CUDA_ARRAY3D_DESCRIPTOR sim_array_level(const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
	unsigned int level)
{
	CUDA_ARRAY3D_DESCRIPTOR own = *descriptor;

	own.Width = shrink(descriptor->Width, level);
	own.Height = shrink(descriptor->Height, level);
	if (!has_layers(descriptor))
		own.Depth = shrink(descriptor->Depth, level);
	return own;
}

unsigned int sim_array_level_limit(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	size_t largest =
		descriptor->Width > descriptor->Height ? descriptor->Width : descriptor->Height;
	unsigned int limit = 1;

	if (!has_layers(descriptor) && descriptor->Depth > largest)
		largest = descriptor->Depth;
	while (largest >>= 1)
		limit++;
	return limit;
}

unsigned int sim_array_plane_count(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
	return descriptor->Format == CU_AD_FORMAT_NV12 ? 2 : 0;
}

CUDA_ARRAY3D_DESCRIPTOR sim_array_plane(const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
	unsigned int plane)
{
	CUDA_ARRAY3D_DESCRIPTOR own = *descriptor;

	own.Format = CU_AD_FORMAT_UNSIGNED_INT8;
	own.NumChannels = plane == 0 ? 1 : 2;
	if (plane > 0) {
		own.Width /= 2;
		own.Height /= 2;
	}
	return own;
}
