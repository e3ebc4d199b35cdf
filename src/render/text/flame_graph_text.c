/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/safe_text.h"
#include "render/call_tree.h"
#include "render/lines/text_columns.h"

enum { MAX_DEPTH = 200 };

/* A node of the line that is written, with its columns. */
struct box {
	const struct gmt_call_node *node;
	size_t begin, end;
};

struct writer {
	const struct gmt_call_tree_view *view;
	const struct gmt_console *console;
	const struct gmt_call_node *root;
	GMT_VEC(struct box) boxes, next; /* of this line, and of the line below */
};

/* Returns the label of a node as one safe line, from malloc; NULL: out of memory. */
static char *label_of(const struct writer *writer, const struct gmt_call_node *node)
{
	struct gmt_console plain = { 0 };
	char *label = NULL;
	size_t length = 0;

	plain.file = open_memstream(&label, &length);
	if (!plain.file)
		return NULL;
	gmt_call_tree_name(writer->view, &plain, node);
	if (fclose(plain.file)) {
		free(label);
		return NULL;
	}
	return label;
}

/* Colours go from yellow to red with the share of the root, as in other flame graphs. */
static void begin_color(const struct writer *writer, const struct gmt_call_node *node)
{
	double share = (double)node->value / (double)writer->root->value;

	gmt_console_style(writer->console,
		GMT_CONSOLE_HEAT + (enum gmt_console_style)(share * (GMT_CONSOLE_HEATS - 1)));
}

/* Writes the label, and fills the rest of the box. The last column separates boxes. */
static void write_box(const struct writer *writer, const struct box *box)
{
	size_t width = box->end - box->begin - 1, used = 0;
	FILE *file = writer->console->file;
	char *label = label_of(writer, box->node);

	begin_color(writer, box->node);
	if (label && width > 2) {
		const char *end = gmt_columns_fit(label, label + strlen(label), width);

		used = gmt_columns_count(label, end);
		fwrite(label, 1, (size_t)(end - label), file);
	}
	for (; used < width; used++)
		fputc(writer->console->color ? ' ' : '-', file);
	gmt_console_style(writer->console, GMT_CONSOLE_NORMAL);
	fputc(writer->console->color ? ' ' : '|', file);
	free(label);
}

static void write_line(const struct writer *writer)
{
	size_t column = 0;

	for (size_t i = 0; i < writer->boxes.count; i++) {
		const struct box *box = &writer->boxes.items[i];

		fprintf(writer->console->file, "%*s", (int)(box->begin - column), "");
		write_box(writer, box);
		column = box->end;
	}
	fputc('\n', writer->console->file);
}

/* Adds the children of a box to the next line, from its first column on. */
static bool add_children(struct writer *writer, const struct box *box)
{
	const struct gmt_call_node *node = box->node;
	uint64_t before = 0;

	for (uint32_t i = 0; i < node->child_count; i++) {
		const struct gmt_call_node *child = gmt_call_tree_child(writer->view->tree, node, i);
		double width = (double)(box->end - box->begin) / (double)node->value;
		size_t begin = box->begin + (size_t)(width * (double)before + 0.5);
		struct box *slot;

		before += child->value;
		if (!gmt_call_tree_shows(writer->view, writer->root, child))
			break;
		/* A box without a column for a mark cannot be shown. */
		if (box->begin + (size_t)(width * (double)before + 0.5) < begin + 2)
			continue;
		if (!(slot = gmt_vec_push(&writer->next)))
			return false;
		*slot = (struct box){ child, begin, box->begin + (size_t)(width * (double)before + 0.5) };
	}
	return true;
}

static bool write_graph(struct writer *writer)
{
	struct box whole = { writer->root, 0, writer->view->columns };
	bool done = add_children(writer, &whole);

	for (size_t depth = 0; done && writer->next.count && depth < MAX_DEPTH; depth++) {
		writer->boxes.count = 0;
		for (size_t i = 0; done && i < writer->next.count; i++) {
			struct box *slot = gmt_vec_push(&writer->boxes);

			done = slot;
			if (slot)
				*slot = writer->next.items[i];
		}
		write_line(writer);
		writer->next.count = 0;
		for (size_t i = 0; done && i < writer->boxes.count; i++)
			done = add_children(writer, &writer->boxes.items[i]);
	}
	return done;
}

void gmt_flame_graph_text(const struct gmt_call_tree_view *view, const struct gmt_console *console)
{
	struct writer writer = { .view = view, .console = console };

	for (size_t i = 0; i < view->tree->roots.count; i++) {
		writer.root = &view->tree->nodes.items[view->tree->roots.items[i]];
		if (i)
			fputc('\n', console->file);
		gmt_call_tree_heading(view, console, writer.root);
		writer.next.count = 0;
		if (!write_graph(&writer))
			break;
	}
	gmt_vec_fini(&writer.boxes);
	gmt_vec_fini(&writer.next);
}
