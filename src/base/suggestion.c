/* SPDX-License-Identifier: MIT */
#include "base/suggestion.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_LENGTH = 32 };

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

/* Does not use the locale, which belongs to the program. */
static char lower(char letter)
{
	return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static bool begins_with_ignoring_case(const char *word, const char *start)
{
	for (; *start; word++, start++)
		if (lower(*word) != lower(*start))
			return false;
	return true;
}

bool gmt_equal_ignoring_case(const char *a, const char *b)
{
	return strlen(a) == strlen(b) && begins_with_ignoring_case(a, b);
}

/* Returns how many letters to insert, remove or change to turn one word into the other. */
static unsigned distance_of(const char *from, const char *to)
{
	unsigned row[MAX_LENGTH + 1];
	size_t width = strlen(to);

	for (size_t i = 0; i <= width; i++)
		row[i] = (unsigned)i;
	for (size_t from_length = 1; from[from_length - 1]; from_length++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)from_length;
		for (size_t i = 1; i <= width; i++) {
			unsigned above = row[i];

			row[i] = smallest(above + 1, row[i - 1] + 1,
				diagonal + (lower(from[from_length - 1]) != lower(to[i - 1])));
			diagonal = above;
		}
	}
	return row[width];
}

void gmt_suggestion_consider(struct gmt_suggestion *suggestion, const char *typed, const char *word)
{
	if (strlen(typed) > MAX_LENGTH || strlen(word) > MAX_LENGTH || !*typed)
		return;

	unsigned distance = distance_of(typed, word);
	/* A user who types the beginning of a word means that word. */
	if (begins_with_ignoring_case(word, typed))
		distance = 1;
	if (distance > 1 + strlen(word) / 3 || distance >= strlen(word))
		return;
	if (!suggestion->best || distance < suggestion->distance)
		*suggestion = (struct gmt_suggestion){ word, distance };
}
