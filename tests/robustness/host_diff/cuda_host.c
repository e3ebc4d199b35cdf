/* SPDX-License-Identifier: MIT */
/*
 * usage: cuda-host CASE [BYTES]
 *
 * Each case uses CUDA in a way that a recorder could disturb. It must print the same with the
 * recorder and without it. The driver is bare_driver.c.
 */
#include "cuda_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void host_must(int is_right, const char *what)
{
	if (is_right)
		return;
	fprintf(stderr, "cuda-host: %s failed\n", what);
	_exit(99);
}

void host_allocate(size_t bytes)
{
	uint64_t block = 0;

	/* Uses no stdio, because handlers and small stacks call this too. */
	if (cuMemAlloc_v2(&block, bytes) || cuMemFree_v2(block))
		_exit(98);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		host_case *run;
	} cases[] = {
#define CASE(name) { #name, host_##name }
		CASE(signal_stack),
		CASE(own_signal_stack),
		CASE(coroutine),
		CASE(thread_stack),
		CASE(forks_in_handlers),
		CASE(jump),
		CASE(nested_jumps),
		CASE(cancel),
		CASE(signals),
		CASE(pending),
		CASE(low_descriptors),
		CASE(few_descriptors),
		CASE(children),
		CASE(forked_child),
		CASE(state),
		CASE(errno),
		CASE(registers),
		CASE(dlerror),
		CASE(edges),
		CASE(no_children),
		CASE(own_malloc),
		CASE(raw_exits),
		CASE(raw_exit_group),
		CASE(exit_of_thread),
		CASE(exit_with_threads),
		CASE(abort),
		CASE(crash),
		CASE(kill),
		CASE(quick_exit),
		CASE(end_of_main),
#undef CASE
	};

#ifdef IS_LINKED
	linked_touch();
#endif
	host_must(argc > 1, "what is asked");
	if (strcmp(argv[1], "dlerror"))
		host_must(cuInit(0) == 0, "cuInit");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[1], cases[i].name))
			return cases[i].run(argc > 2 ? strtoul(argv[2], NULL, 0) : 0);
	fprintf(stderr, "cuda-host: no case is called %s\n", argv[1]);
	return 2;
}
