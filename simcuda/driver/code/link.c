/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"

/* Linking: the resulting image is the concatenated text of the inputs. */

struct CUlinkState_st {
	char *image; /* ends with a zero byte */
	size_t size_bytes;
};

CUresult sim_read_file(const char *path, char **ret_content)
{
	enum { STEP_BYTES = 1 << 16 };
	char *content = NULL;
	size_t size_bytes = 0, more = 1;

	FILE *file = fopen(path, "rbe");
	if (!file)
		return CUDA_ERROR_FILE_NOT_FOUND;
	while (more > 0) {
		char *larger = realloc(content, size_bytes + STEP_BYTES + 1);
		if (!larger)
			break;
		content = larger;
		more = fread(content + size_bytes, 1, STEP_BYTES, file);
		size_bytes += more;
	}
	fclose(file);
	if (more > 0) {
		free(content);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	content[size_bytes] = '\0';
	*ret_content = content;
	return CUDA_SUCCESS;
}

CUresult cuLinkCreate_v2(unsigned int option_count, CUjit_option *options, void **option_values,
	CUlinkState *ret_state)
{
	struct CUctx_st *context;
	CUresult result = sim_context_get_current(&context);

	(void)option_count;
	(void)options;
	(void)option_values;
	if (result != CUDA_SUCCESS)
		return result;
	if (!ret_state)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_state = calloc(1, sizeof(struct CUlinkState_st));
	return *ret_state ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size_bytes,
	const char *name, unsigned int option_count, CUjit_option *options, void **option_values)
{
	(void)name;
	(void)option_count;
	(void)options;
	(void)option_values;
	if (!state)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!data || (unsigned int)type >= CU_JIT_NUM_INPUT_TYPES)
		return CUDA_ERROR_INVALID_VALUE;
	/*
	 * The driver reads no declarations from code that is not text, so it drops such code without a
	 * loss.
	 */
	if (type != CU_JIT_INPUT_PTX)
		return CUDA_SUCCESS;
	char *image = realloc(state->image, state->size_bytes + size_bytes + 2);
	if (!image)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(image + state->size_bytes, data, size_bytes);
	size_bytes = strnlen(image + state->size_bytes, size_bytes);
	state->image = image;
	state->size_bytes += size_bytes;
	memcpy(image + state->size_bytes, "\n", 2);
	state->size_bytes++;
	return CUDA_SUCCESS;
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
	unsigned int option_count, CUjit_option *options, void **option_values)
{
	char *content;

	if (!state)
		return CUDA_ERROR_INVALID_HANDLE;
	CUresult result = path ? sim_read_file(path, &content) : CUDA_ERROR_INVALID_VALUE;
	if (result != CUDA_SUCCESS)
		return result;
	result = cuLinkAddData_v2(state, type, content, strlen(content), path, option_count, options,
		option_values);
	free(content);
	return result;
}

CUresult cuLinkComplete(CUlinkState state, void **ret_code, size_t *ret_size_bytes)
{
	static char nothing[] = "";

	if (!state)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_code)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_code = state->image ? state->image : nothing;
	if (ret_size_bytes)
		*ret_size_bytes = state->size_bytes + 1;
	return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state)
{
	if (!state)
		return CUDA_ERROR_INVALID_HANDLE;
	free(state->image);
	free(state);
	return CUDA_SUCCESS;
}
