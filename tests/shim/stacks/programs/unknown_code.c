/* SPDX-License-Identifier: MIT */
/*
 * unknown-code: allocates below generated code that has no unwind table. Each allocation has its
 * own size. The program prints the size, and how the generated code uses its frame pointer:
 *
 *	framed     keeps a frame pointer, as compilers do
 *	nested     keeps a frame pointer, and calls code that keeps one too
 *	frameless  leaves the caller's frame pointer in the register
 *	clobbered  has an arbitrary value in the register; the program tries many values
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __x86_64__
enum { PAGE = 4096, VALUES = 400, VALUE_AT = 3 };

static const unsigned char framed[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
/* mov rax, rdi; mov rdi, rsi; call rax */
static const unsigned char nested[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7,
	0xff, 0xd0, 0x5d, 0xc3 };
static const unsigned char frameless[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd7, 0x48, 0x83, 0xc4,
	0x08, 0xc3 };
static const unsigned char clobbered[] = { 0x55, 0x48, 0xbd, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd7,
	0x5d, 0xc3 };

typedef void code(void (*)(void), void (*)(void));

static size_t size_bytes = 1000;

__attribute__((noinline)) static void allocate(void)
{
	void *block;

	if (cudaMalloc(&block, size_bytes) != cudaSuccess)
		abort();
	__asm__ volatile("" : : : "memory"); /* no tail call */
}

static code *make(const unsigned char *bytes, size_t count, const uint64_t *value)
{
	unsigned char *page =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code *made;

	memcpy(page, bytes, count);
	if (value)
		memcpy(page + VALUE_AT, value, sizeof(*value));
	if (mprotect(page, PAGE, PROT_READ | PROT_EXEC))
		abort();
	memcpy(&made, &page, sizeof(made));
	return made;
}

__attribute__((noinline)) static void run_code(const char *name, code *run, void (*first)(void),
	void (*second)(void))
{
	void *page;

	printf("%zu %s\n", ++size_bytes, name);
	run(first, second);
	memcpy(&page, &run, sizeof(page));
	munmap(page, PAGE);
}

static uint64_t any_value(void)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0),
			 value = (uint64_t)rand() << 40 ^ (uint64_t)rand() << 20 ^ (uint64_t)rand();

	switch (rand() % 5) {
	case 0:
		return value >> rand() % 64;
	case 1:
		return -(value >> (32 + rand() % 32));
	case 2: /* an address on the stack or near it */
		return here - 4096 + value % 16384;
	case 3:
		return (here - 1024 + value % 4096) & ~(uint64_t)7;
	}
	return (uint64_t)__builtin_frame_address(0) / PAGE * PAGE + (value % 1000) * PAGE;
}

__attribute__((noinline)) static void *run_all(void *unused)
{
	void (*inner)(void);
	code *other = make(framed, sizeof(framed), NULL);

	memcpy(&inner, &other, sizeof(inner));
	for (int again = 0; again < 2; again++) {
		run_code("framed", make(framed, sizeof(framed), NULL), allocate, NULL);
		run_code("nested", make(nested, sizeof(nested), NULL), inner, allocate);
		run_code("frameless", make(frameless, sizeof(frameless), NULL), allocate, NULL);
		for (int i = 0; i < VALUES; i++) {
			uint64_t value = any_value();

			run_code("clobbered", make(clobbered, sizeof(clobbered), &value), allocate, NULL);
		}
	}
	return unused;
}

int main(void)
{
	pthread_t thread;

	srand(1);
	run_all(NULL);
	if (pthread_create(&thread, NULL, run_all, NULL))
		abort();
	pthread_join(thread, NULL);
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
