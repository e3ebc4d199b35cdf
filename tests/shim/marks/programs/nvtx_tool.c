/* SPDX-License-Identifier: MIT */
/* A second NVTX tool. It prints each call that it gets, and returns its own distinct values. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void function(void);

struct callbacks {
	size_t size;
	int (*get_functions)(int, function ****, unsigned *);
};

struct attributes {
	char unused[32];
	int32_t message_type;
	const char *message;
};

static char a_domain, a_string;

static const char *text(const struct attributes *attributes)
{
	return attributes->message == &a_string ? "my string" : attributes->message;
}

static const char *domain_name(const void *domain)
{
	return domain == &a_domain ? "my domain" : "a domain that is none";
}

static void mark(const char *name)
{
	printf("tool: mark %s\n", name);
}

static int push(const char *name)
{
	printf("tool: push %s\n", name);
	return 70;
}

static int pop(void)
{
	printf("tool: pop\n");
	return 80;
}

static uint64_t start(const char *name)
{
	printf("tool: start %s\n", name);
	return 90;
}

static void end(uint64_t id)
{
	printf("tool: end %llu\n", (unsigned long long)id);
}

static void domain_mark(const void *domain, const struct attributes *attributes)
{
	printf("tool: mark %s in %s\n", text(attributes), domain_name(domain));
}

static int domain_push(const void *domain, const struct attributes *attributes)
{
	printf("tool: push %s in %s\n", text(attributes), domain_name(domain));
	return 71;
}

static int domain_pop(const void *domain)
{
	printf("tool: pop in %s\n", domain_name(domain));
	return 81;
}

static uint64_t domain_start(const void *domain, const struct attributes *attributes)
{
	printf("tool: start %s in %s\n", text(attributes), domain_name(domain));
	return 91;
}

static void domain_end(const void *domain, uint64_t id)
{
	printf("tool: end %llu in %s\n", (unsigned long long)id, domain_name(domain));
}

static void *register_string(const void *domain, const char *name)
{
	printf("tool: register %s in %s\n", name, domain_name(domain));
	return &a_string;
}

static void *create_domain(const char *name)
{
	printf("tool: create %s\n", name);
	return &a_domain;
}

/* Takes all NVTX functions that this tool implements, except those with wide strings. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
	const void *(*get_table)(uint32_t));

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t))
{
	const struct callbacks *callbacks = get_table(1);
	function ***core, ***core2;
	unsigned count;

	callbacks->get_functions(1, &core, &count);
	*core[2] = (function *)mark;
	*core[5] = (function *)start;
	*core[7] = (function *)end;
	*core[9] = (function *)push;
	*core[11] = (function *)pop;
	callbacks->get_functions(5, &core2, &count);
	*core2[1] = (function *)domain_mark;
	*core2[2] = (function *)domain_start;
	*core2[3] = (function *)domain_end;
	*core2[4] = (function *)domain_push;
	*core2[5] = (function *)domain_pop;
	*core2[10] = (function *)register_string;
	*core2[12] = (function *)create_domain;
	return 1;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(void *module);

int InitializeInjectionNvtxExtension(void *module)
{
	(void)module;
	printf("tool: extension\n");
	return 1;
}
