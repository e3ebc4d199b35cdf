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

#define GMT_LEAK_REASON(NAME, name, right, all, words) { name, words, right, all },
static const struct {
	const char *name, *words;
	unsigned right, all;
} reasons[] = {
#include "analysis/leaks/leak_reasons.def"
};
#undef GMT_LEAK_REASON

const char *gmt_leak_reason_name(enum gmt_leak_reason reason)
{
	return reasons[reason].name;
}

const char *gmt_leak_reason_words(enum gmt_leak_reason reason)
{
	return reasons[reason].words;
}

double gmt_leak_reason_confidence(enum gmt_leak_reason reason)
{
	return (reasons[reason].right + 1.0) / (reasons[reason].all + 2.0);
}

void gmt_leak_fini(struct gmt_leak *leak)
{
	gmt_vec_fini(&leak->followers);
	gmt_vec_fini(&leak->stacks);
	gmt_vec_fini(&leak->attribution);
	gmt_vec_fini(&leak->rose_most);
}
