/* SPDX-License-Identifier: MIT */
/* Fuzzes files of owner rules with any text, and applies the rules to all kinds of frames. */
#include <stdlib.h>

#include "content.h"
#include "reader/stacks/owner_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct gmt_owner_frame frames[] = {
		{ false, "", "", "" },
		{ false, "cublasCreate_v2", "", "/usr/local/cuda/lib64/libcublas.so.12" },
		{ false, "void at::native::f<float, (int)3>(a<b<c>>, (anonymous namespace)::d)", "x.cpp",
			"/opt/venv/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so" },
		{ true, "Model.forward", "/opt/venv/lib/python3.11/site-packages/cupy/cuda/memory.py", "" },
		{ true, "((((((((<<<<<<<<", "////////", "" },
	};
	struct gmt_owner_rules rules = { 0 };
	struct gmt_owner_rule_cache sieve = { 0 };
	struct gmt_error error = { 0 };
	char *text = (char *)fuzz_copy(data, size);
	enum gmt_status status = gmt_owner_rules_parse(&rules, text, "file", &error);

	if (status && (status != GMT_USAGE || !*error.text))
		abort();
	for (size_t i = 0; i < sizeof(frames) / sizeof(*frames); i++) {
		const struct gmt_owner_rule *rule;

		if (!gmt_owner_rules_find(&rules, &sieve, &frames[i], &rule) ||
			(rule &&
				(rule < rules.rows.items || rule >= rules.rows.items + rules.rows.count ||
					!rule->name)))
			abort();
	}
	gmt_owner_rule_cache_fini(&sieve);
	gmt_owner_rules_fini(&rules);
	free(text);
	return 0;
}
