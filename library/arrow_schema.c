/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "library/arrow.h"

struct schema_private {
	char *metadata;
	struct ArrowSchema *children[];
};

static const char *const formats[] = {
	[GMT_TYPE_I64] = "l",
	[GMT_TYPE_U64] = "L",
	[GMT_TYPE_I32] = "i",
	[GMT_TYPE_U32] = "I",
	[GMT_TYPE_F64] = "g",
	[GMT_TYPE_BOOL] = "b",
	[GMT_TYPE_TEXT] = "i", /* of the numbers in the dictionary */
};

static void free_inner(struct ArrowSchema *schema)
{
	if (schema && schema->release)
		schema->release(schema);
	free(schema);
}

static void release_column(struct ArrowSchema *schema)
{
	free_inner(schema->dictionary);
	schema->release = NULL;
}

static void release_table(struct ArrowSchema *schema)
{
	struct schema_private *own = schema->private_data;

	for (int64_t i = 0; i < schema->n_children; i++)
		free_inner(schema->children[i]);
	free(own->metadata);
	free(own);
	schema->release = NULL;
}

/* Names and formats are constants, so a column owns only the schema of its dictionary. */
static struct ArrowSchema *new_column(const struct gmt_read_column *column)
{
	struct ArrowSchema *schema = malloc(sizeof(*schema)), *dictionary = NULL;

	if (column->type == GMT_TYPE_TEXT && !(dictionary = malloc(sizeof(*dictionary)))) {
		free(schema);
		return NULL;
	}
	if (dictionary)
		*dictionary = (struct ArrowSchema){ .format = "u", .name = "", .release = release_column };
	if (!schema) {
		free(dictionary);
		return NULL;
	}
	*schema = (struct ArrowSchema){
		.format = formats[column->type],
		.name = column->name,
		.flags = column->has_nulls ? ARROW_FLAG_NULLABLE : 0,
		.dictionary = dictionary,
		.release = release_column,
	};
	return schema;
}

static char *append(char *to, const void *bytes, size_t length)
{
	memcpy(to, bytes, length);
	return to + length;
}

/* Returns the metadata in the form of the interface, from malloc; NULL: out of memory. */
static char *new_metadata(const char *const *texts)
{
	size_t bytes = sizeof(int32_t);
	int32_t count = 0;
	char *metadata, *to;

	for (; texts[count]; count++)
		bytes += sizeof(int32_t) + strlen(texts[count]);
	metadata = malloc(bytes);
	if (!metadata)
		return NULL;
	to = append(metadata, &(int32_t){ count / 2 }, sizeof(int32_t));
	for (int32_t i = 0; i < count; i++) {
		int32_t length = (int32_t)strlen(texts[i]);

		to = append(append(to, &length, sizeof(length)), texts[i], (size_t)length);
	}
	return metadata;
}

bool gmt_schema_export(const struct gmt_stream_column *columns, size_t column_count,
	const char *const *metadata, struct ArrowSchema *ret_schema)
{
	struct schema_private *own = calloc(1, sizeof(*own) + column_count * sizeof(*own->children));
	bool done = own && (own->metadata = new_metadata(metadata));

	for (size_t i = 0; done && i < column_count; i++)
		done = (own->children[i] = new_column(columns[i].description));
	if (!done) {
		for (size_t i = 0; own && i < column_count; i++)
			free_inner(own->children[i]);
		if (own)
			free(own->metadata);
		free(own);
		return false;
	}
	*ret_schema = (struct ArrowSchema){
		.format = "+s",
		.name = "",
		.metadata = own->metadata,
		.n_children = (int64_t)column_count,
		.children = own->children,
		.release = release_table,
		.private_data = own,
	};
	return true;
}
