/* SPDX-License-Identifier: MIT */
/* An audit library (LD_AUDIT) as others have it: it watches every binding and changes none. */
#include <link.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned la_version(unsigned version);
EXPORT unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie);
EXPORT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
	unsigned *flags, const char *name);

static unsigned long bindings;

unsigned la_version(unsigned version)
{
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
	(void)map;
	(void)namespace;
	(void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
	unsigned *flags, const char *name)
{
	(void)index;
	(void)from;
	(void)to;
	(void)flags;
	(void)name;
	bindings++;
	return symbol->st_value;
}
