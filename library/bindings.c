/* SPDX-License-Identifier: MIT */
/* The functions for bindings to Python, and for the names of tables and columns. */
#include <dlfcn.h>
#include <stdlib.h>

#include "gpumemtrace-read.h"
#include "library/tables/tables.h"

typedef void *pointer_of_capsule(void *capsule, const char *name);

struct ArrowArrayStream *gpumemtrace_read_new_stream(void)
{
	return calloc(1, sizeof(struct ArrowArrayStream));
}

void gpumemtrace_read_free_stream(struct ArrowArrayStream *stream)
{
	if (stream && stream->release)
		stream->release(stream);
	free(stream);
}

void gpumemtrace_read_capsule_destructor(void *capsule)
{
	pointer_of_capsule *pointer_of =
		(pointer_of_capsule *)dlsym(RTLD_DEFAULT, "PyCapsule_GetPointer");

	if (pointer_of)
		gpumemtrace_read_free_stream(pointer_of(capsule, "arrow_array_stream"));
}

int gpumemtrace_read_version(void)
{
	return GPUMEMTRACE_READ_VERSION;
}

const char *gpumemtrace_read_program_version(void)
{
	return GMT_PROGRAM_VERSION;
}

const char *gpumemtrace_read_table_name(size_t index)
{
	const struct gmt_read_table *table = gmt_read_table_at(index);

	return table ? table->name : NULL;
}

const char *gpumemtrace_read_column_name(size_t table, size_t column)
{
	const struct gmt_read_table *description = gmt_read_table_at(table);

	return description && column < description->column_count ? description->columns[column].name
															 : NULL;
}
