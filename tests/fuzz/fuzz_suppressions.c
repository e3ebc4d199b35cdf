/* SPDX-License-Identifier: MIT */
/* Fuzzes suppressions files with any text, and matches their patterns with all kinds of names. */
#include <stdlib.h>
#include <string.h>

#include "analysis/gate/suppressions.h"
#include "content.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {
		"",
		"a",
		"aaaaaaaaaaaaaaaab",
		"at::native::empty_cuda(c10::ArrayRef<long>)",
		"/usr/lib/libcublas.so.12",
		"train.py",
		"^$*",
		"\xff\xfe\x1b[31m",
	};
	struct gmt_suppressions suppressions = { 0 };
	struct gmt_error error = { 0 };
	char *text = (char *)fuzz_copy(data, size);
	enum gmt_status status = gmt_suppressions_parse(&suppressions, text, "file", &error);

	if (status && (status != GMT_USAGE || !*error.text))
		abort();
	for (size_t i = 0; i < suppressions.rows.count; i++) {
		const char *pattern = suppressions.rows.items[i].pattern;

		for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
			if (gmt_suppression_matches(pattern, names[n]) && !*names[n])
				abort();
		/* A pattern without special characters matches itself. */
		if (!strpbrk(pattern, "^$*") && !gmt_suppression_matches(pattern, pattern))
			abort();
	}
	gmt_suppressions_fini(&suppressions);
	free(text);
	return 0;
}
