/* SPDX-License-Identifier: MIT */
/*
 * Implements the option exports=off. A weak reference to a CUDA function in the program binds to
 * the recorder's export, without a look-up that the recorder could answer. A program that tests the
 * reference then believes that CUDA is there. With exports=off, the loader must not see the
 * recorder's CUDA names when it relocates the program. That happens before any constructor runs.
 * But the loader relocates the program last, and runs the resolvers of indirect functions (ifunc)
 * before that. So a resolver removes the names from this library's symbol table. The functions that
 * dlsym and cuGetProcAddress return are still hooked.
 *
 * A resolver must not call another library. It can read only what the kernel put on the stack: the
 * arguments and the environment.
 */
#include "interpose/hide_exports.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "runtime/text_before_relocation.h"
#include "hooks/hooks.h"

extern void *__libc_stack_end; /* a variable of the loader: the address of argc */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* Makes a system call without libc. */
static inline long system_call(long number, long first, long second, long third, long fourth)
{
#if defined(__x86_64__)
	register long fourth_register __asm__("r10") = fourth;
	long result;

	__asm__ volatile("syscall"
		: "=a"(result)
		: "a"(number), "D"(first), "S"(second), "d"(third), "r"(fourth_register)
		: "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long number_register __asm__("x8") = number;
	register long first_register __asm__("x0") = first;
	register long second_register __asm__("x1") = second;
	register long third_register __asm__("x2") = third;
	register long fourth_register __asm__("x3") = fourth;

	__asm__ volatile("svc 0"
		: "+r"(first_register)
		: "r"(number_register), "r"(second_register), "r"(third_register), "r"(fourth_register)
		: "memory");
	return first_register;
#endif
}

static inline long protect(uintptr_t start, size_t bytes, long protection)
{
	return system_call(SYS_mprotect, (long)start, (long)bytes, protection, 0);
}

GMT_EARLY static inline bool is_same(const char *a, const char *b)
{
	size_t length = gmt_early_skip(a, b);

	return length && !a[length];
}

static const char off_item[] = "exports=off", on_item[] = "exports=on";
static const char variable_prefix[] = "GPUMEMTRACE_OPTIONS=";

/* Returns the offset of the variable's value in /proc/self/environ, or -1. */
GMT_EARLY static long find_value(int fd, char *buffer, size_t bytes)
{
	size_t matched = 0; /* bytes of the prefix; more than its length: this is another variable */
	long offset = 0, got;

	while ((got = system_call(SYS_pread64, fd, (long)buffer, (long)bytes, offset)) > 0) {
		for (long i = 0; i < got; i++) {
			if (!buffer[i])
				matched = 0;
			else if (matched < sizeof(variable_prefix) - 1 && buffer[i] == variable_prefix[matched])
				matched++;
			else
				matched = sizeof(variable_prefix);
			if (matched == sizeof(variable_prefix) - 1)
				return offset + i + 1;
		}
		offset += got;
	}
	return -1;
}

GMT_EARLY static bool is_off_in_environment(void)
{
	char buffer[4096];
	bool value_is_off = false;
	int fd =
		(int)system_call(SYS_openat, AT_FDCWD, (long)"/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;

	long offset = find_value(fd, buffer, sizeof(buffer));
	long got =
		offset < 0 ? 0 : system_call(SYS_pread64, fd, (long)buffer, sizeof(buffer) - 1, offset);

	if (got > 0) {
		buffer[got] = 0;
		value_is_off = gmt_early_has_item(buffer, off_item, on_item);
	}
	system_call(SYS_close, fd, 0, 0, 0);
	return value_is_off;
}

GMT_EARLY static bool wants_exports_off(void)
{
	/*
	 * A non-PIE program that uses __libc_stack_end (node and other programs with V8) has its own
	 * copy of the variable. The loader sets that copy when it relocates the program, so it is still
	 * NULL here.
	 */
	if (!__libc_stack_end)
		return is_off_in_environment();

	char **argument = (char **)__libc_stack_end + 1; /* after argc */

	while (*argument)
		argument++;
	for (char **variable = argument + 1; *variable; variable++) {
		size_t name = gmt_early_skip(*variable, variable_prefix);

		if (name && gmt_early_has_item(*variable + name, off_item, on_item))
			return true;
	}
	return false;
}

GMT_EARLY static uintptr_t dynamic_address(long tag)
{
	uintptr_t base = (uintptr_t)&__ehdr_start;

	for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == tag)
			/* The loader may or may not have added the base already. */
			return entry->d_un.d_ptr >= base ? entry->d_un.d_ptr : base + entry->d_un.d_ptr;
	return 0;
}

/* Gets the number of symbols from the hash table. */
GMT_EARLY static size_t count_symbols(const uint32_t *hash)
{
	uint32_t buckets = hash[0], first = hash[1], bloom_words = hash[2], last = 0;
	const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)(hash + 4) + bloom_words);
	const uint32_t *chain = bucket + buckets;

	for (uint32_t i = 0; i < buckets; i++)
		last = bucket[i] > last ? bucket[i] : last;
	if (last < first)
		return first;
	while (!(chain[last - first] & 1))
		last++;
	return (size_t)last + 1;
}

/* Returns whether a name is hidden. PyTorch's report functions stay: no program tests for them. */
GMT_EARLY static bool is_cuda_name(const char *name)
{
	for (unsigned hook = GMT_HOOK_NONE + 1; hook < GMT_HOOK_COUNT; hook++)
		if (gmt_hooks[hook].library != GMT_LIBRARY_C10 && is_same(name, gmt_hooks[hook].symbol))
			return true;
	return false;
}

GMT_EARLY static void hide_exports(void)
{
	ElfW(Sym) *symbols = (ElfW(Sym) *)dynamic_address(DT_SYMTAB);
	const char *names = (const char *)dynamic_address(DT_STRTAB);
	const uint32_t *hash = (const uint32_t *)dynamic_address(DT_GNU_HASH);

	if (!symbols || !names || !hash)
		return;

	size_t count = count_symbols(hash);
	uintptr_t start = (uintptr_t)symbols & ~(uintptr_t)65535; /* the largest possible page size */
	uintptr_t base = (uintptr_t)&__ehdr_start;
	size_t bytes = (uintptr_t)(symbols + count) - (start > base ? start : base);

	start = start > base ? start : base;
	if (protect(start, bytes, PROT_READ | PROT_WRITE))
		return;
	for (size_t i = 1; i < count; i++) {
		if (symbols[i].st_shndx != SHN_UNDEF && is_cuda_name(names + symbols[i].st_name)) {
			symbols[i].st_value = 0;
			symbols[i].st_shndx = SHN_UNDEF; /* not defined here */
		}
	}
	protect(start, bytes, PROT_READ);
}

static void do_nothing(void)
{
}

GMT_EARLY static void (*resolve(void))(void)
{
	if (wants_exports_off())
		hide_exports();
	return do_nothing;
}

void gmt_hide_exports(void) __attribute__((ifunc("resolve"), visibility("hidden")));
