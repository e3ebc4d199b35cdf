/* SPDX-License-Identifier: MIT */
/*
 * usage: sandboxed HOW
 *
 * Installs a seccomp filter for itself. The filter kills the process at each system call that is
 * not on a short list. HOW is:
 *
 * - return: returns from main after it installed the filter
 * - signal: raises a signal, then ends by exit()
 * - strict: ends its only thread in strict mode, which allows read, write, exit and sigreturn only
 * - events: uses CUDA first, installs the filter for its own thread, then allocates
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EVENTS = 2000 };

#ifdef HAS_CUDA
int cuInit(unsigned flags);
int cuMemAlloc_v2(uint64_t *ret_address, size_t bytes);
int cuMemFree_v2(uint64_t address);
#endif

static void print_text(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		_exit(9);
}

static void kill_at_all_but(const unsigned *numbers, unsigned count)
{
	struct sock_filter filter[32] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, nr)) };
	unsigned short length = 1;

	for (unsigned i = 0; i < count; i++)
		filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, numbers[i],
			(unsigned char)(count - i), 0);
	filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);

	struct sock_fprog program = { length, filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		print_text("no filters here\n");
		_exit(77);
	}
}

static void on_signal(int number)
{
	(void)number;
	print_text("handler\n");
}

#ifdef HAS_CUDA
static void use_cuda(int count)
{
	uint64_t block;

	for (int i = 0; i < count; i++)
		if (cuMemAlloc_v2(&block, 4096) || cuMemFree_v2(block))
			_exit(8);
}
#endif

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	static const unsigned few[] = { SYS_write, SYS_exit_group };
	static const unsigned with_signals[] = { SYS_write, SYS_exit_group, SYS_rt_sigreturn,
		SYS_getpid, SYS_gettid, SYS_tgkill, SYS_rt_sigprocmask };

	signal(SIGUSR1, on_signal);
	if (!strcmp(how, "return")) {
		kill_at_all_but(few, 2);
		print_text("behind the filter\n");
		return 3;
	}
	if (!strcmp(how, "signal")) {
		kill_at_all_but(with_signals, 7);
		raise(SIGUSR1);
		exit(4);
	}
	if (!strcmp(how, "strict")) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			_exit(77);
		print_text("strictly\n");
		syscall(SYS_exit, 5);
	}
#ifdef HAS_CUDA
	if (!strcmp(how, "events")) {
		/*
		 * An event whose stack is new needs rt_sigprocmask: the recorder blocks signals while it
		 * unwinds the stack.
		 */
		static const unsigned with_events[] = { SYS_write, SYS_exit_group, SYS_rt_sigprocmask };
		if (cuInit(0))
			_exit(7);
		use_cuda(100);
		kill_at_all_but(with_events, 3);
		use_cuda(EVENTS);
		print_text("allocated behind the filter\n");
		/* exit() would let the recorder finish, but that needs more than this filter allows. */
		syscall(SYS_exit_group, 6);
	}
#endif
	return 2;
}
