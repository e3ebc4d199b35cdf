/* SPDX-License-Identifier: MIT */
#include "analysis/leaks/leaks.h"

const char *gmt_leak_definition_name(enum gmt_leak_definition definition)
{
	static const char *const names[] = {
#define GMT_LEAK_DEFINITION(NAME, name, meaning) name,
#include "analysis/leaks/leak_definitions.def"
#undef GMT_LEAK_DEFINITION
	};

	return names[definition];
}

#define GMT_LEAK_GROUND(NAME, name, right, all, words) { name, words, right, all },
static const struct {
	const char *name, *words;
	unsigned right, all;
} grounds[] = {
#include "analysis/leaks/leak_grounds.def"
};
#undef GMT_LEAK_GROUND

const char *gmt_leak_ground_name(enum gmt_leak_ground ground)
{
	return grounds[ground].name;
}

const char *gmt_leak_ground_words(enum gmt_leak_ground ground)
{
	return grounds[ground].words;
}

double gmt_leak_ground_confidence(enum gmt_leak_ground ground)
{
	return (grounds[ground].right + 1.0) / (grounds[ground].all + 2.0);
}

void gmt_leak_fini(struct gmt_leak *leak)
{
	gmt_vec_fini(&leak->followers);
	gmt_vec_fini(&leak->stacks);
	gmt_vec_fini(&leak->attribution);
	gmt_vec_fini(&leak->rose_most);
}
