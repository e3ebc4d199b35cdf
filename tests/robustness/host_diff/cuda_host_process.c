/* SPDX-License-Identifier: MIT */
/* Descriptors, children, errno, registers and memory of a process that uses CUDA. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda_host.h"
#include "state.h"

enum { REDIRECTIONS_S = 3, FIRST_HIGH = 100, FEW = 16, CALLS = 1000 };

extern char **environ;
static _Atomic unsigned long taken; /* calls of malloc and its kind by the main thread */
static _Thread_local int is_counted;

/*
 * Closes descriptor 0 and opens a file again and again, as a shell redirects. The new file must get
 * the number that was closed.
 */
int host_low_descriptors(size_t bytes)
{
	time_t end = time(NULL) + REDIRECTIONS_S;
	long wrong = 0;

	(void)bytes;
	host_allocate(10);
	for (long i = 0; (i & 255) || time(NULL) < end; i++) {
		if (i % 20 == 0)
			host_allocate(HOST_BLOCK_BYTES);
		close(0);

		int fd = open("/dev/null", O_RDONLY);

		if (fd) {
			wrong++;
			close(fd);
			/* The recorder's writer may have held the number for a moment. */
			while ((fd = open("/dev/null", O_RDONLY)) > 0)
				close(fd);
		}
	}
	printf("%ld redirections got another number\n", wrong);
	return 0;
}

/* Counts the files that the program can open when its limit of descriptors is low. */
int host_few_descriptors(size_t bytes)
{
	int opened = 0;

	(void)bytes;
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ FEW, FEW });
	host_allocate(10);
	for (int i = 0; i < 200; i++)
		host_allocate(HOST_BLOCK_BYTES);
	for (int fd; (fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0; opened++)
		printf("opened %d\n", fd);
	printf("%d files, then %s\n", opened, strerrorname_np(errno));
	return 0;
}

static void wait_for(pid_t child)
{
	int status = 0;

	host_must(waitpid(child, &status, 0) == child, "waitpid");
	printf("child ended %d %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	fflush(stdout);
}

/* Uses CUDA, then starts in several ways the program $PROCESS_FACTS, which prints its own state. */
int host_children(size_t bytes)
{
	char *process_facts = getenv("PROCESS_FACTS"), *arguments[] = { process_facts, NULL };
	pid_t child;

	(void)bytes;
	host_must(process_facts != NULL, "PROCESS_FACTS");
	for (int i = 0; i < 200; i++)
		host_allocate(HOST_BLOCK_BYTES);
	child = fork();
	if (child == 0) {
		execv(process_facts, arguments);
		_exit(9);
	}
	wait_for(child);
	child = vfork();
	if (child == 0) {
		execv(process_facts, arguments);
		_exit(9);
	}
	wait_for(child);
	host_must(posix_spawn(&child, process_facts, NULL, NULL, arguments, environ) == 0,
		"posix_spawn");
	wait_for(child);
	host_must(system("\"$PROCESS_FACTS\"") == 0, "system");

	FILE *pipe = popen("\"$PROCESS_FACTS\"", "r");
	char line[4096];

	while (pipe && fgets(line, sizeof(line), pipe))
		fputs(line, stdout);
	host_must(pipe && pclose(pipe) == 0, "popen");
	return 0;
}

/*
 * Prints the facts of the process. Leaves out descriptors with high numbers, because they may be
 * the recorder's, and mappings.
 */
static void show_state(const char *when, unsigned parts)
{
	static struct gmt_state_text text;

	text.length = 0;
	gmt_state_report(&text, parts);
	text.bytes[text.length] = 0;
	for (char *line = text.bytes, *next; *line; line = next) {
		int fd = -1, number = 0;

		next = strchr(line, '\n');
		*next++ = 0;
		if ((sscanf(line, "descriptor %d:", &fd) == 1 && fd >= FIRST_HIGH) ||
			!strncmp(line, "mapped:", 7) || !strncmp(line, "memory:", 7))
			continue;
		/* libc handles these two signals itself from the first pthread_create on. */
		if (sscanf(line, "signal %d:", &number) == 1 && (number == 32 || number == 33))
			continue;
		printf("%s: %s\n", when, line);
	}
	fflush(stdout);
}

int host_state(size_t bytes)
{
	(void)bytes;
	show_state("before", GMT_STATE_OF_PROCESS | GMT_STATE_OF_FILES | GMT_STATE_OF_MEMORY);
	for (int i = 0; i < 2000; i++)
		host_allocate(HOST_BLOCK_BYTES);
	show_state("after", GMT_STATE_OF_PROCESS | GMT_STATE_OF_FILES);
	return 0;
}

/*
 * Forks a child that does not call CUDA. The child must have one thread, and its parent's
 * descriptors without the recorder's.
 */
int host_forked_child(size_t bytes)
{
	pid_t child;

	(void)bytes;
	for (int i = 0; i < 200; i++)
		host_allocate(HOST_BLOCK_BYTES);
	child = fork();
	if (child == 0) {
		unsigned high = 0;

		for (int fd = FIRST_HIGH; fd < 4096; fd++)
			high += fcntl(fd, F_GETFD) >= 0;
		show_state("child", GMT_STATE_OF_PROCESS | GMT_STATE_OF_FILES | GMT_STATE_OF_MEMORY);
		printf("child: %u descriptors of high numbers\n", high);
		fflush(stdout);
		_exit(3);
	}
	wait_for(child);
	return 0;
}

int host_errno(size_t bytes)
{
	static const int values[] = { 0, EDOM, 12345, -1 };
	uint64_t block;

	(void)bytes;
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			errno = values[i];
			host_must(cuMemAlloc_v2(&block, HOST_BLOCK_BYTES) == 0, "cuMemAlloc");
			printf("errno %d", errno);
			errno = values[i];
			host_must(cuMemFree_v2(block) == 0, "cuMemFree");
			printf(", then %d", errno);
			errno = values[i];
			cuMemFree_v2(0);
			printf(", then %d\n", errno);
		}
	return 0;
}

#ifdef __x86_64__
/*
 * Calls the function. Returns bits: 1: it changed a register that it must preserve, 2: it left the
 * direction flag set, 4: it changed MXCSR, 8: it changed the x87 control word.
 */
__attribute__((noinline)) static unsigned call_with_known_registers(int (*function)(uint64_t),
	uint64_t argument)
{
	uint64_t changed = 0, flags = 0;
	unsigned before = 0x7f80, after = 0;
	unsigned short x87_before = 0x0b7f, x87_after = 0;

	__asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(before), "m"(x87_before));
	__asm__ volatile(
		"mov %[argument], %%rdi\n\t"
		"mov %[function], %%rax\n\t"
		"push %%rbp\n\t"
		"mov %%rsp, %%r15\n\t"
		"and $-16, %%rsp\n\t"
		"mov $0x1111, %%rbx\n\t mov $0x2222, %%rbp\n\t mov $0x3333, %%r12\n\t"
		"mov $0x4444, %%r13\n\t mov $0x5555, %%r14\n\t"
		"push %%r15\n\t push %%r15\n\t"
		"call *%%rax\n\t"
		"pop %%rdx\n\t pop %%rcx\n\t"
		"xor %%eax, %%eax\n\t"
		"xor $0x1111, %%rbx\n\t or %%rbx, %%rax\n\t xor $0x2222, %%rbp\n\t or %%rbp, %%rax\n\t"
		"xor $0x3333, %%r12\n\t or %%r12, %%rax\n\t xor $0x4444, %%r13\n\t or %%r13, %%rax\n\t"
		"xor $0x5555, %%r14\n\t or %%r14, %%rax\n\t"
		"xor %%r15, %%rdx\n\t or %%rdx, %%rax\n\t xor %%r15, %%rcx\n\t or %%rcx, %%rax\n\t"
		"mov %%r15, %%rsp\n\t"
		"pop %%rbp\n\t"
		"pushfq\n\t pop %%rdx\n\t"
		: "=a"(changed), "=&d"(flags)
		: [argument] "r"(argument), [function] "r"(function)
		: "rbx", "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
		"memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(after), "=m"(x87_after));
	before = 0x1f80;
	x87_before = 0x037f;
	__asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(before), "m"(x87_before));
	return (changed != 0) | (unsigned)(((flags >> 10) & 1) << 1) |
		(unsigned)((after & ~0x3fU) != 0x7f80) << 2 | (unsigned)(x87_after != 0x0b7f) << 3;
}
#else
static unsigned call_with_known_registers(int (*function)(uint64_t), uint64_t argument)
{
	return function(argument) * 0U;
}
#endif

int host_registers(size_t bytes)
{
	uint64_t block;

	(void)bytes;
	for (int i = 0; i < 100; i++) {
		host_must(cuMemAlloc_v2(&block, HOST_BLOCK_BYTES) == 0, "cuMemAlloc");

		unsigned wrong = call_with_known_registers(cuMemFree_v2, block);

		if (wrong)
			printf("call %d: registers, direction, control words: %x\n", i, wrong);
	}
	return 0;
}

static void show_dlerror(const char *when)
{
	const char *text = dlerror();

	printf("%s: %s\n", when, text ? text : "no error");
}

/* Prints the thread's dlerror() before and after the first driver calls, and around later calls. */
int host_dlerror(size_t bytes)
{
	void *found;

	(void)bytes;
	host_must(!dlopen("libnothing.so", RTLD_LAZY), "dlopen");
	host_must(cuInit(0) == 0, "cuInit");
	host_allocate(10);
	show_dlerror("an error before the first call");
	show_dlerror("again");
	for (int i = 0; i < 20; i++)
		host_allocate(10);
	show_dlerror("after calls");
	host_must(!dlsym(RTLD_DEFAULT, "nothing_at_all"), "dlsym");
	host_allocate(10);
	show_dlerror("an error between calls");
	host_must(!dlsym(RTLD_DEFAULT, "nothing_more"), "dlsym");
	host_allocate(10);
	found = dlsym(RTLD_DEFAULT, "puts");
	show_dlerror(found ? "an error, a call, and a look-up that finds" : "nothing found");
	return 0;
}

/* Lets the driver write results at both ends of a page. The pages next to it are inaccessible. */
int host_edges(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *pages = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)bytes;
	host_must(pages != MAP_FAILED && !mprotect(pages + page, page, PROT_READ | PROT_WRITE), "mmap");
	memset(pages + page, 0xa5, page);

	uint64_t *first = (uint64_t *)(void *)(pages + page),
			 *last = (uint64_t *)(void *)(pages + 2 * page) - 1;

	for (int i = 0; i < 100; i++) {
		host_must(cuMemAlloc_v2(first, HOST_BLOCK_BYTES) == 0 &&
				cuMemAlloc_v2(last, HOST_BLOCK_BYTES) == 0,
			"cuMemAlloc");
		host_must(cuMemFree_v2(*first) == 0 && cuMemFree_v2(*last) == 0, "cuMemFree");
	}

	size_t changed = 0;

	for (size_t i = sizeof(*first); i < page - sizeof(*last); i++)
		changed += pages[page + i] != 0xa5;
	printf("%zu bytes between the results changed\n", changed);
	return 0;
}

int host_no_children(size_t bytes)
{
	(void)bytes;
	for (int i = 0; i < 200; i++)
		host_allocate(HOST_BLOCK_BYTES);
	errno = 0;

	int found = (int)wait(NULL);

	printf("wait %d, %s\n", found, strerrorname_np(errno));
	return 0;
}

/*
 * The program's own allocator counts its calls. It takes memory from one piece and never returns
 * it. It represents allocators that must not be entered twice.
 */
static void *take(size_t bytes)
{
	static _Alignas(64) unsigned char piece[64 << 20];
	static _Atomic size_t used;
	size_t at = atomic_fetch_add(&used, (bytes + 31) & ~(size_t)15);

	if (is_counted)
		atomic_fetch_add(&taken, 1);
	if (at + bytes + 32 > sizeof(piece))
		abort();
	memcpy(piece + at, &bytes, sizeof(bytes));
	return piece + at + 16;
}

void *malloc(size_t bytes)
{
	return take(bytes);
}

void *calloc(size_t count, size_t bytes)
{
	return take(count * bytes);
}

void *realloc(void *old, size_t bytes)
{
	void *now = take(bytes);
	size_t before = 0;

	if (old) {
		memcpy(&before, (char *)old - 16, sizeof(before));
		memcpy(now, old, before < bytes ? before : bytes);
	}
	return now;
}

void free(void *block)
{
	(void)block;
}

int host_own_malloc(size_t bytes)
{
	(void)bytes;
	/* The recorder allocates during the first calls only, while it inspects the process. */
	for (int i = 0; i < CALLS; i++)
		host_allocate(HOST_BLOCK_BYTES);
	is_counted = 1;
	for (int i = 0; i < CALLS; i++)
		host_allocate(HOST_BLOCK_BYTES);
	is_counted = 0;
	printf("%lu calls of malloc\n", atomic_load(&taken));
	return 0;
}
