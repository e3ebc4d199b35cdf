/* SPDX-License-Identifier: MIT */
#include "reader/symbols/demangle.h"

#include <stdlib.h>
#include <string.h>

/* From the C++ ABI (cxxabi.h), which has no C header. The result comes from malloc. */
char *__cxa_demangle(const char *symbol, char *buffer, size_t *buffer_bytes, int *ret_status);

/* longer symbols are not demangled, because their cost can explode */
enum { MAX_SYMBOL = 16 << 10 };

static size_t plain_length(const char *symbol)
{
	const char *const endings[] = { ".cold", ".part.", ".constprop.", ".isra.", ".lto_priv.", "@" };
	size_t length = strlen(symbol);

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		const char *at = strstr(symbol, endings[i]);

		if (at && at != symbol && (size_t)(at - symbol) < length)
			length = (size_t)(at - symbol);
	}
	return length;
}

bool gmt_demangle(struct gmt_intern *strings, const char *symbol, uint32_t *ret_string)
{
	size_t length = plain_length(symbol);
	char *readable = NULL;
	int status = -1;

	if (length > 2 && length < MAX_SYMBOL && symbol[0] == '_' && symbol[1] == 'Z') {
		char plain[MAX_SYMBOL];

		memcpy(plain, symbol, length);
		plain[length] = 0;
		readable = __cxa_demangle(plain, NULL, NULL, &status);
	}

	bool done = readable ? gmt_intern_text(strings, readable, ret_string)
						 : gmt_intern(strings, symbol, length, ret_string);
	free(readable);
	return done;
}
