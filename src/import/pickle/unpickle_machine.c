/* SPDX-License-Identifier: MIT */
#include "import/pickle/unpickle_machine.h"

#include <string.h>

/*
 * A pickler numbers the values of the memo one after the other. A larger gap would be a way to make
 * a small file use much memory.
 */
enum { MEMO_GAP = 65536 };

static bool fail(struct gmt_unpickle_machine *machine, const char *problem)
{
	machine->problem = problem;
	return false;
}

/* Returns the height above which values can be taken. */
static size_t floor_of(const struct gmt_unpickle_machine *machine)
{
	return machine->marks.count ? machine->marks.items[machine->marks.count - 1] : 0;
}

static bool has_values(struct gmt_unpickle_machine *machine, size_t count)
{
	return machine->stack.count - floor_of(machine) >= count ||
		fail(machine, "needs a value that the pickle does not have");
}

bool gmt_unpickle_push(struct gmt_unpickle_machine *machine, struct gmt_unpickled value)
{
	struct gmt_unpickled *slot = gmt_vec_push(&machine->stack);

	if (!slot)
		return fail(machine, NULL);
	*slot = value;
	return true;
}

static struct gmt_unpickled_items *new_items(struct gmt_unpickle_machine *machine)
{
	struct gmt_unpickled_items *items = gmt_arena_alloc(&machine->unpickle->arena, sizeof(*items));

	if (items)
		*items = (struct gmt_unpickled_items){ 0 };
	return items;
}

bool gmt_unpickle_push_empty(struct gmt_unpickle_machine *machine, enum gmt_unpickled_kind kind)
{
	struct gmt_unpickled value = { .kind = kind };

	value.items = new_items(machine);
	return value.items ? gmt_unpickle_push(machine, value) : fail(machine, NULL);
}

bool gmt_unpickle_pop(struct gmt_unpickle_machine *machine, struct gmt_unpickled *ret_value)
{
	if (!has_values(machine, 1))
		return false;
	*ret_value = machine->stack.items[--machine->stack.count];
	return true;
}

bool gmt_unpickle_mark(struct gmt_unpickle_machine *machine)
{
	size_t *slot = gmt_vec_push(&machine->marks);

	if (!slot)
		return fail(machine, NULL);
	*slot = machine->stack.count;
	return true;
}

/* Removes the last mark. Returns the number of values above it in *ret_count. */
static bool take_mark(struct gmt_unpickle_machine *machine, size_t *ret_count)
{
	if (!machine->marks.count)
		return fail(machine, "needs a mark that the pickle does not have");
	*ret_count = machine->stack.count - machine->marks.items[--machine->marks.count];
	return true;
}

bool gmt_unpickle_pop_mark(struct gmt_unpickle_machine *machine)
{
	size_t count;

	if (!take_mark(machine, &count))
		return false;
	machine->stack.count -= count;
	return true;
}

static bool append(struct gmt_unpickle_machine *machine, struct gmt_unpickled_items *items,
	const struct gmt_unpickled *values, size_t count)
{
	if (count > UINT32_MAX / 2 - items->count)
		return fail(machine, "makes a list that is too long");
	if (count > items->capacity - items->count) {
		size_t capacity = items->count + count;
		struct gmt_unpickled *larger;

		/* The first batch is usually the only one. */
		if (items->count && capacity < 2 * (size_t)items->capacity)
			capacity = 2 * (size_t)items->capacity;
		larger = gmt_arena_alloc(&machine->unpickle->arena, capacity * sizeof(*larger));
		if (!larger)
			return fail(machine, NULL);
		if (items->count)
			memcpy(larger, items->values, items->count * sizeof(*larger));
		items->values = larger;
		items->capacity = (uint32_t)capacity;
	}
	if (count)
		memcpy(items->values + items->count, values, count * sizeof(*values));
	items->count += (uint32_t)count;
	return true;
}

bool gmt_unpickle_build(struct gmt_unpickle_machine *machine, enum gmt_unpickled_kind kind,
	size_t count)
{
	struct gmt_unpickled value = { .kind = kind };

	if (!has_values(machine, count))
		return false;
	if (kind == GMT_UNPICKLED_DICT && count % 2)
		return fail(machine, "has a key without a value");
	value.items = new_items(machine);
	if (!value.items)
		return fail(machine, NULL);
	if (!append(machine, value.items, gmt_vec_at(&machine->stack, machine->stack.count - count),
			count))
		return false;
	machine->stack.count -= count;
	return gmt_unpickle_push(machine, value);
}

bool gmt_unpickle_build_from_mark(struct gmt_unpickle_machine *machine,
	enum gmt_unpickled_kind kind)
{
	size_t count;

	return take_mark(machine, &count) && gmt_unpickle_build(machine, kind, count);
}

bool gmt_unpickle_add(struct gmt_unpickle_machine *machine, enum gmt_unpickled_kind kind,
	size_t count)
{
	const struct gmt_unpickled *container;

	if (!has_values(machine, count + 1))
		return false;
	container = &machine->stack.items[machine->stack.count - count - 1];
	if (container->kind != (uint32_t)kind)
		return fail(machine, "adds to a value that takes no such items");
	if (kind == GMT_UNPICKLED_DICT && count % 2)
		return fail(machine, "has a key without a value");
	if (!append(machine, container->items, container + 1, count))
		return false;
	machine->stack.count -= count;
	return true;
}

bool gmt_unpickle_add_from_mark(struct gmt_unpickle_machine *machine, enum gmt_unpickled_kind kind)
{
	size_t count;

	return take_mark(machine, &count) && gmt_unpickle_add(machine, kind, count);
}

bool gmt_unpickle_duplicate(struct gmt_unpickle_machine *machine)
{
	return has_values(machine, 1) &&
		gmt_unpickle_push(machine, machine->stack.items[machine->stack.count - 1]);
}

bool gmt_unpickle_put(struct gmt_unpickle_machine *machine, uint64_t index)
{
	size_t count = machine->memo.count;

	if (!has_values(machine, 1))
		return false;
	if (index >= count) {
		if (index - count > MEMO_GAP)
			return fail(machine, "has a number that no pickler writes");
		if (!gmt_vec_reserve(&machine->memo, index + 1 - count))
			return fail(machine, NULL);
		/* Numbers that were left out have no value: NONE. */
		memset(machine->memo.items + count, 0, (index + 1 - count) * sizeof(*machine->memo.items));
		machine->memo.count = index + 1;
	}
	machine->memo.items[index] = machine->stack.items[machine->stack.count - 1];
	return true;
}

bool gmt_unpickle_get(struct gmt_unpickle_machine *machine, uint64_t index)
{
	if (index >= machine->memo.count)
		return fail(machine, "needs a value that the pickle does not have");
	return gmt_unpickle_push(machine, machine->memo.items[index]);
}

void gmt_unpickle_machine_fini(struct gmt_unpickle_machine *machine)
{
	gmt_vec_fini(&machine->stack);
	gmt_vec_fini(&machine->marks);
	gmt_vec_fini(&machine->memo);
}
