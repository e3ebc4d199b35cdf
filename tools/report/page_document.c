/* SPDX-License-Identifier: MIT */
#include "tools/report/page_document.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "containers/vec.h"
#include "render/page.h"
#include "render/page/page_template.h"

/* Places in the program's template that the parts replace. */
static const char DATA[] = "<!--gpumemtrace data-->", SUMMARY[] = "<!--gpumemtrace summary-->";

/* Comes before each part in the temporary file. */
struct part_header {
	uint64_t part, length;
};

/* The place of a part in the temporary file. */
struct piece {
	enum gmt_page_part part;
	long offset;
	uint64_t length;
};

struct pieces { /* layout of a GMT_VEC */
	struct piece *items;
	size_t count, capacity;
};

void gmt_page_part_write(FILE *parts, enum gmt_page_part part, const char *text, size_t length)
{
	struct part_header header = { part, length };

	fwrite(&header, sizeof(header), 1, parts);
	fwrite(text, 1, length, parts);
}

/*
 * Lists the parts of the temporary file. Returns false when out of memory, or if the file cannot be
 * read.
 */
static bool find_pieces(FILE *parts, struct pieces *pieces)
{
	struct part_header header;

	rewind(parts);
	while (fread(&header, sizeof(header), 1, parts) == 1) {
		struct piece *piece = gmt_vec_push(pieces);

		if (!piece || header.part >= GMT_PAGE_PART_COUNT)
			return false;
		*piece = (struct piece){ (enum gmt_page_part)header.part, ftell(parts), header.length };
		if (fseek(parts, (long)header.length, SEEK_CUR))
			return false;
	}
	return !ferror(parts);
}

/* Copies all parts of one kind, separated by `separator`. */
static bool copy_pieces(FILE *parts, const struct pieces *pieces, enum gmt_page_part part,
	const char *separator, FILE *to)
{
	char bytes[1 << 15];
	bool is_first = true;

	for (size_t i = 0; i < pieces->count; i++) {
		uint64_t left = pieces->items[i].length;

		if (pieces->items[i].part != part)
			continue;
		if (!is_first)
			fputs(separator, to);
		is_first = false;
		if (fseek(parts, pieces->items[i].offset, SEEK_SET))
			return false;
		while (left) {
			size_t wanted = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);

			if (fread(bytes, 1, wanted, parts) != wanted)
				return false;
			fwrite(bytes, 1, wanted, to);
			left -= wanted;
		}
	}
	return true;
}

static bool write_index(FILE *parts, const struct pieces *pieces, FILE *document)
{
	char *items = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&items, &length);
	bool done = stream && copy_pieces(parts, pieces, GMT_PAGE_PART_ITEM, ",\n", stream);

	if (stream)
		done &= !fclose(stream);
	if (done)
		gmt_page_write_index(items, length, document);
	free(items);
	return done;
}

/* Copies the template, and writes the parts in place of DATA and SUMMARY. */
static bool write_document(FILE *parts, const struct pieces *pieces, FILE *document)
{
	size_t length;
	const char *at = gmt_page_template(&length), *end = at + length;

	for (;;) {
		const char *data = memmem(at, (size_t)(end - at), DATA, sizeof(DATA) - 1);
		const char *summary = memmem(at, (size_t)(end - at), SUMMARY, sizeof(SUMMARY) - 1);
		bool is_data = data && (!summary || data < summary);
		const char *next = is_data ? data : summary;

		fwrite(at, 1, (size_t)((next ? next : end) - at), document);
		if (!next)
			return true;
		at = next + (is_data ? sizeof(DATA) : sizeof(SUMMARY)) - 1;
		if (is_data ? !write_index(parts, pieces, document) ||
					!copy_pieces(parts, pieces, GMT_PAGE_PART_PACKETS, "", document)
					: !copy_pieces(parts, pieces, GMT_PAGE_PART_SUMMARY, "", document))
			return false;
	}
}

bool gmt_page_document_write(FILE *parts, FILE *document)
{
	struct pieces pieces = { 0 };
	bool done = find_pieces(parts, &pieces) && write_document(parts, &pieces, document);

	gmt_vec_fini(&pieces);
	return done;
}
