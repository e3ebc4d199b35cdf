/* SPDX-License-Identifier: MIT */
#include "driver.h"

/* Names and texts of error codes. */

struct error_row {
	CUresult code;
	const char *name;
	const char *text;
};

static const struct error_row rows[] = {
#define ERROR_BOTH(driver, runtime, text) { driver, #driver, text },
#define ERROR_DRIVER(driver, text) { driver, #driver, text },
#define ERROR_RUNTIME(runtime, text)
#include "../errors.def"
#undef ERROR_BOTH
#undef ERROR_DRIVER
#undef ERROR_RUNTIME
};

static const struct error_row *find(CUresult code)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].code == code)
			return &rows[i];
	return NULL;
}

CUresult cuGetErrorName(CUresult code, const char **ret_name)
{
	const struct error_row *row = find(code);

	if (!ret_name)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_name = row ? row->name : NULL;
	return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **ret_text)
{
	const struct error_row *row = find(code);

	if (!ret_text)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_text = row ? row->text : NULL;
	return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
