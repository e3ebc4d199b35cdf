/* SPDX-License-Identifier: MIT */
#include "tools/options/moment.h"

#include <string.h>

#include "base/text.h"

bool gmt_moment_parse(const char *text, struct gmt_moment *ret_moment)
{
	static const struct {
		const char *word;
		enum gmt_moment_kind kind;
	} words[] = {
		{ "peak", GMT_MOMENT_PEAK },
		{ "end", GMT_MOMENT_END },
		{ "oom", GMT_MOMENT_OOM },
	};

	*ret_moment = (struct gmt_moment){ 0 };
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(text, words[i].word) == 0) {
			ret_moment->kind = words[i].kind;
			return true;
		}
	if (strncmp(text, "step:", 5) == 0) {
		ret_moment->kind = GMT_MOMENT_STEP;
		return gmt_text_parse_u64(text + 5, &ret_moment->value);
	}
	ret_moment->kind = GMT_MOMENT_TIME;
	ret_moment->has_unit = text[strspn(text, "0123456789")] != 0;
	return gmt_text_parse_time(text, &ret_moment->value);
}
