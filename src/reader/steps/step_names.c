/* SPDX-License-Identifier: MIT */
#include "reader/steps/step_names.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

/*
 * Returns whether a part of a name is a word, possibly with a number: "train_step 3",
 * "ProfilerStep#3". "Batched" and a layer named BatchNorm do not count.
 */
static bool is_own_word(const char *name, size_t at, size_t length)
{
	const char *after = name + at + length;
	bool begins = !at || !isalpha((unsigned char)name[at - 1]) ||
		(islower((unsigned char)name[at - 1]) && isupper((unsigned char)name[at]));

	if (!begins || islower((unsigned char)*after))
		return false;
	return strncasecmp(after + strspn(after, " _-"), "norm", 4) != 0;
}

bool gmt_is_step_name(const char *name)
{
	static const char *const words[] = { "step", "iter", "iteration", "batch", "minibatch" };

	if (strcasestr(name, "dataloader"))
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		for (const char *at = name; (at = strcasestr(at, words[i])); at++)
			if (is_own_word(name, (size_t)(at - name), strlen(words[i])))
				return true;
	return false;
}

struct gmt_name_without_digits gmt_name_without_digits(const char *name)
{
	struct gmt_name_without_digits without;
	size_t length = 0;

	for (; *name && length + 1 < sizeof(without.text); name++)
		if (!isdigit((unsigned char)*name))
			without.text[length++] = *name;
	without.text[length] = 0;
	return without;
}
