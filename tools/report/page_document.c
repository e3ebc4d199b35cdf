/* SPDX-License-Identifier: MIT */
#include "tools/report/page_document.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "containers/vec.h"
#include "render/page.h"
#include "render/page/page_template.h"

static const char DATA[] = "<!--gpumemtrace data-->", SUMMARY[] = "<!--gpumemtrace summary-->";

/* What stands before a part in the temporary file. */
struct head {
	uint64_t part, length;
};

/* A part in the temporary file. */
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
	struct head head = { part, length };

	fwrite(&head, sizeof(head), 1, parts);
	fwrite(text, 1, length, parts);
}

static bool find_pieces(FILE *parts, struct pieces *pieces)
{
	struct head head;

	rewind(parts);
	while (fread(&head, sizeof(head), 1, parts) == 1) {
		struct piece *piece = gmt_vec_push(pieces);

		if (!piece || head.part >= GMT_PAGE_PART_COUNT)
			return false;
		*piece = (struct piece){ (enum gmt_page_part)head.part, ftell(parts), head.length };
		if (fseek(parts, (long)head.length, SEEK_CUR))
			return false;
	}
	return !ferror(parts);
}

/* Copies all parts of one kind, with `between` between them. */
static bool copy_pieces(FILE *parts, const struct pieces *pieces, enum gmt_page_part part,
	const char *between, FILE *to)
{
	char bytes[1 << 15];
	bool is_first = true;

	for (size_t i = 0; i < pieces->count; i++) {
		uint64_t left = pieces->items[i].length;

		if (pieces->items[i].part != part)
			continue;
		if (!is_first)
			fputs(between, to);
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
