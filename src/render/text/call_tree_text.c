/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "render/call_tree.h"
#include "render/memory_names.h"

/* A node that waits to be written, with the lines that lead to it. */
struct waiting {
	uint32_t node;
	uint16_t indent; /* in steps of two columns */
	bool is_last; /* of its parent's shown children */
	bool is_chained; /* stands below its parent, without a branch */
};

struct writer {
	const struct gmt_call_tree_view *view;
	const struct gmt_console *console;
	const struct gmt_call_node *root;
	bool left_out; /* a node is too small to be shown */
	GMT_VEC(struct waiting) stack;
	GMT_VEC(bool) open; /* by indent: a line goes on to a later sibling */
};

void gmt_call_tree_heading(const struct gmt_call_tree_view *view, const struct gmt_console *console,
	const struct gmt_call_node *root)
{
	gmt_console_style(console, GMT_CONSOLE_BOLD);
	fprintf(console->file, "%s, %s, %s: %s\n", view->title, view->layer,
		gmt_device_text(root->device).text, gmt_call_tree_number(view, root->value).text);
	gmt_console_style(console, GMT_CONSOLE_NORMAL);
}

void gmt_call_tree_name(const struct gmt_call_tree_view *view, const struct gmt_console *console,
	const struct gmt_call_node *node)
{
	if (node->place == GMT_CALL_TREE_GROUP)
		gmt_console_text(console, gmt_profile_groups_name(view->tree->groups, node->group));
	else if (node->place == GMT_CALL_TREE_NO_PLACE)
		fputs("(no stack)", console->file);
	else
		gmt_console_place(console, view->recording, view->traces, (uint32_t)node->place);
}

static void write_lines(const struct writer *writer, const struct waiting *waiting)
{
	bool is_utf8 = writer->view->is_utf8;

	uint16_t through = (uint16_t)(waiting->indent + waiting->is_chained);

	gmt_console_style(writer->console, GMT_CONSOLE_DIM);
	for (uint16_t i = 1; i < through; i++)
		fputs(!writer->open.items[i] ? "  " : is_utf8 ? "│ " : "| ", writer->console->file);
	if (!waiting->is_chained && waiting->indent && is_utf8)
		fputs(waiting->is_last ? "└ " : "├ ", writer->console->file);
	else if (!waiting->is_chained && waiting->indent)
		fputs(waiting->is_last ? "` " : "+ ", writer->console->file);
	gmt_console_style(writer->console, GMT_CONSOLE_NORMAL);
}

static void write_node(const struct writer *writer, const struct waiting *waiting)
{
	const struct gmt_call_node *node = &writer->view->tree->nodes.items[waiting->node];
	FILE *file = writer->console->file;

	fprintf(file, "%10s %4.0f %%  ", gmt_call_tree_number(writer->view, node->value).text,
		100 * (double)node->value / (double)writer->root->value);
	write_lines(writer, waiting);
	gmt_call_tree_name(writer->view, writer->console, node);
	fputc('\n', file);
}

/* Returns how many children are shown: the first ones, which are the largest. */
static uint32_t shown_children(const struct writer *writer, const struct gmt_call_node *node)
{
	uint32_t count = 0;

	while (count < node->child_count &&
		gmt_call_tree_shows(writer->view, writer->root,
			gmt_call_tree_child(writer->view->tree, node, count)))
		count++;
	return count;
}

/* An only child with the number of its parent stands below it: a chain of calls is a column. */
static bool is_chained(const struct gmt_call_node *parent, const struct gmt_call_node *child)
{
	return parent->depth && child->value == parent->value;
}

static bool push_children(struct writer *writer, uint32_t index, uint16_t indent)
{
	const struct gmt_call_tree *tree = writer->view->tree;
	const struct gmt_call_node *node = &tree->nodes.items[index];

	uint32_t shown = shown_children(writer, node);

	writer->left_out |= shown < node->child_count;
	for (uint32_t i = shown; i-- > 0;) {
		const struct gmt_call_node *child = gmt_call_tree_child(tree, node, i);
		struct waiting *slot = gmt_vec_push(&writer->stack);
		bool chained = is_chained(node, child);
		bool is_deeper = !chained && (node->depth || shown > 1) && indent < UINT16_MAX - 1;

		if (!slot)
			return false;
		*slot = (struct waiting){ (uint32_t)(child - tree->nodes.items),
			(uint16_t)(indent + is_deeper), i + 1 == shown, chained };
	}
	return true;
}

/* Notes whether the line of this indent goes on below. */
static bool set_open(struct writer *writer, const struct waiting *waiting)
{
	while (writer->open.count <= waiting->indent) {
		bool *slot = gmt_vec_push(&writer->open);

		if (!slot)
			return false;
		*slot = false;
	}
	writer->open.items[waiting->indent] = !waiting->is_last;
	return true;
}

static bool write_tree(struct writer *writer, uint32_t root)
{
	bool done = push_children(writer, root, 0);

	while (done && writer->stack.count && !gmt_budget_has_cut_output()) {
		struct waiting waiting = writer->stack.items[--writer->stack.count];

		/* A node of a chain keeps the line of its parent. */
		if (!waiting.is_chained && !set_open(writer, &waiting))
			return false;
		write_node(writer, &waiting);
		done = push_children(writer, waiting.node, waiting.indent);
	}
	writer->stack.count = 0;
	return done;
}

void gmt_call_tree_text(const struct gmt_call_tree_view *view, const struct gmt_console *console)
{
	struct writer writer = { .view = view, .console = console };

	for (size_t i = 0; i < view->tree->roots.count; i++) {
		writer.root = &view->tree->nodes.items[view->tree->roots.items[i]];
		if (i)
			fputc('\n', console->file);
		gmt_call_tree_heading(view, console, writer.root);
		if (!write_tree(&writer, view->tree->roots.items[i]))
			break;
	}
	if (writer.left_out)
		fprintf(console->file, "\ncalls below %g %% are not shown: --least=0 shows all\n",
			view->least_percent);
	gmt_vec_fini(&writer.stack);
	gmt_vec_fini(&writer.open);
}
