/* SPDX-License-Identifier: MIT */
/* Finds out whether an optimizer made an allocation itself, or a closure that it called. */
#include "reader/stacks/traces_merger.h"

#include <string.h>

/* In paths of PyTorch's optimizer files, this part follows PyTorch's folder. */
#define OPTIMIZERS "optim/"

/* The function through which PyTorch runs the step of any optimizer, PyTorch's or the program's. */
#define ANY_STEP "profile_hook_step.<locals>.wrapper"

enum { MAX_FOLDER_BYTES = 4096 }; /* length limit of a path; no file of PyTorch has a longer path */

/*
 * Properties of a place. They are cached, because many stacks have the same frames, and a hostile
 * file may have long names.
 */
enum {
	IS_KNOWN = 1,
	IS_OWN = 2, /* of the user's own files */
	IS_PACKAGE = 4, /* of an installed package, including PyTorch */
	IS_STEP = 8, /* a function named "step" */
	IS_CLOSURE = 16, /* a function named "closure", or a lambda */
};

/* PyTorch's folder: the first `length` bytes of `path`. Frames of PyTorch have files in it. */
struct folder {
	const char *path;
	size_t length;
};

static const struct gmt_place *frame_at(const struct gmt_traces_merger *merger, size_t at)
{
	return gmt_traces_place(merger->traces, merger->python.items[at].place);
}

static const char *file_of(const struct gmt_traces_merger *merger, size_t at)
{
	return gmt_traces_string(merger->traces, frame_at(merger, at)->file);
}

static const char *function_of(const struct gmt_traces_merger *merger, size_t at)
{
	return gmt_traces_string(merger->traces, frame_at(merger, at)->function);
}

static uint8_t examine_frame(const char *file, const char *function)
{
	const char *dot = strrchr(function, '.'), *name = dot ? dot + 1 : function;
	uint8_t kind = IS_KNOWN;

	if (gmt_traces_is_own_file(file))
		kind |= IS_OWN;
	else if (strstr(file, "-packages/"))
		kind |= IS_PACKAGE;
	if (strcmp(name, "step") == 0)
		kind |= IS_STEP;
	if (strcmp(name, "closure") == 0 || strcmp(name, "<lambda>") == 0)
		kind |= IS_CLOSURE;
	return kind;
}

static uint8_t kind_at(struct gmt_traces_merger *merger, size_t at)
{
	uint32_t place = merger->python.items[at].place;
	uint8_t *kind;

	/* New entries are zero. */
	if (place >= merger->closure_kinds.count) {
		if (!gmt_vec_reserve(&merger->closure_kinds, place + 1 - merger->closure_kinds.count))
			return examine_frame(file_of(merger, at), function_of(merger, at));
		merger->closure_kinds.count = place + 1;
	}
	kind = &merger->closure_kinds.items[place];
	if (!*kind)
		*kind = examine_frame(file_of(merger, at), function_of(merger, at));
	return *kind;
}

static struct folder folder_of(const char *file)
{
	const char *found = NULL;

	for (const char *at = strstr(file, OPTIMIZERS); at; at = strstr(at + 1, OPTIMIZERS))
		if (at > file && at[-1] == '/')
			found = at;
	return (struct folder){ .path = file, .length = found ? (size_t)(found - file) : 0 };
}

/* Returns whether a frame is neither of PyTorch nor of Python's standard library. */
static bool is_foreign(struct gmt_traces_merger *merger, const struct folder *folder, size_t at)
{
	return kind_at(merger, at) & (IS_OWN | IS_PACKAGE) &&
		strncmp(file_of(merger, at), folder->path, folder->length) != 0;
}

/*
 * Returns whether the program's own optimizer, whose step is frame number `step`, called a closure.
 */
static bool calls_closure(struct gmt_traces_merger *merger, const struct folder *folder,
	size_t step)
{
	bool is_own_step = kind_at(merger, step) & IS_OWN;

	for (size_t i = 0; i < step; i++)
		if (is_foreign(merger, folder, i) &&
			(kind_at(merger, i) & IS_CLOSURE || (!is_own_step && kind_at(merger, i) & IS_OWN)))
			return true;
	return false;
}

bool gmt_traces_is_by_optimizer(struct gmt_traces_merger *merger, size_t at)
{
	struct folder folder = folder_of(file_of(merger, at));
	const char *function = function_of(merger, at);
	size_t inner = at, length = strlen(function);

	if (folder.length > MAX_FOLDER_BYTES)
		return false;
	/* Find the outermost frame inside the optimizer's frame that is not of PyTorch. */
	while (inner && !is_foreign(merger, &folder, inner - 1))
		inner--;
	if (!inner)
		return true;
	/*
	 * PyTorch's optimizers call only closures. Exception: ANY_STEP calls the step of another
	 * optimizer.
	 */
	return length >= strlen(ANY_STEP) &&
		strcmp(function + length - strlen(ANY_STEP), ANY_STEP) == 0 &&
		kind_at(merger, inner - 1) & IS_STEP && !calls_closure(merger, &folder, inner - 1);
}
