/* SPDX-License-Identifier: MIT */
#include "runtime.h"

/* Names and texts of errors, and the last error of each thread. */

static _Thread_local cudaError_t last_error;

cudaError_t sim_leave(cudaError_t error)
{
	/* A success does not clear an error that the program has not yet read. */
	if (error)
		last_error = error;
	return error;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t error = last_error;

	last_error = cudaSuccess;
	return error;
}

cudaError_t cudaPeekAtLastError(void)
{
	return last_error;
}

static const struct error_row {
	cudaError_t code;
	const char *name;
	const char *text;
} rows[] = {
#define ERROR_BOTH(driver, runtime, text) { runtime, #runtime, text },
#define ERROR_DRIVER(driver, text)
#define ERROR_RUNTIME(runtime, text) { runtime, #runtime, text },
#include "../errors.def"
#undef ERROR_BOTH
#undef ERROR_DRIVER
#undef ERROR_RUNTIME
};

static const struct error_row *find(cudaError_t code)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].code == code)
			return &rows[i];
	return NULL;
}

const char *cudaGetErrorName(cudaError_t code)
{
	const struct error_row *row = find(code);

	return row ? row->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t code)
{
	const struct error_row *row = find(code);

	return row ? row->text : "unrecognized error code";
}
