/* SPDX-License-Identifier: MIT */
#include "tools/doctor/doctor_subprocess.h"
#include "system/monotonic_clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Time limit for the end of a killed process. A process that waits for a device's driver may never
 * end.
 */
enum { KILL_WAIT_MS = 1000, STEP_MS = 10 };

struct channel {
	int fd; /* -1: closed */
	char *text;
	size_t length, capacity;
};

static int64_t now_ms(void)
{
	return (int64_t)(gmt_monotonic_ns() / 1000000);
}

static void change_environment(const char *const changes[])
{
	for (; *changes; changes++) {
		const char *equals = strchr(*changes, '=');
		char *name = equals ? strndup(*changes, (size_t)(equals - *changes)) : NULL;

		if (!equals)
			unsetenv(*changes);
		else if (name)
			setenv(name, equals + 1, 1);
		free(name);
	}
}

__attribute__((noreturn)) static void exec_child(const char *path, const char *const argv[],
	const char *const changes[], int out, int err)
{
	int nothing = open("/dev/null", O_RDONLY);
	char *arguments[16];
	size_t count = 0;

	/* If the parent was killed, the result is not needed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	dup2(nothing, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	change_environment(changes);
	for (; argv[count] && count < 15; count++)
		arguments[count] = strdup(argv[count]);
	arguments[count] = NULL;
	execv(path, arguments);
	_exit(127);
}

static void read_channel(struct channel *channel)
{
	char waste[4096];
	size_t left = channel->capacity - channel->length;
	ssize_t got = read(channel->fd, left ? channel->text + channel->length : waste,
		left ? left : sizeof(waste));

	if (got > 0 && left) {
		channel->length += (size_t)got;
	} else if (got == 0 || (got < 0 && errno != EINTR)) {
		close(channel->fd);
		channel->fd = -1;
	}
}

/* Reads until both pipes are closed or the deadline has passed. */
static void read_channels(struct channel channels[2], int64_t deadline_ms)
{
	while (channels[0].fd >= 0 || channels[1].fd >= 0) {
		struct pollfd ends[2] = {
			{ .fd = channels[0].fd, .events = POLLIN },
			{ .fd = channels[1].fd, .events = POLLIN },
		};
		int64_t left = deadline_ms - now_ms();

		if (left <= 0 || (poll(ends, 2, (int)left) < 0 && errno != EINTR))
			break;
		for (int i = 0; i < 2; i++)
			if (channels[i].fd >= 0 && ends[i].revents)
				read_channel(&channels[i]);
	}
	for (int i = 0; i < 2; i++)
		if (channels[i].fd >= 0)
			close(channels[i].fd);
}

static bool wait_until(pid_t pid, int *ret_status, int64_t deadline_ms)
{
	for (;;) {
		pid_t answer = waitpid(pid, ret_status, WNOHANG);

		if (answer == pid || (answer < 0 && errno != EINTR))
			return answer == pid;
		if (now_ms() >= deadline_ms)
			return false;
		nanosleep(&(struct timespec){ .tv_nsec = STEP_MS * 1000000 }, NULL);
	}
}

void gmt_doctor_subprocess_run(const char *path, const char *const argv[],
	const char *const changes[], int timeout_ms, struct gmt_doctor_subprocess *ret_process)
{
	int64_t deadline_ms = now_ms() + timeout_ms;
	int out[2], err[2];

	memset(ret_process, 0, sizeof(*ret_process));
	if (pipe2(out, O_CLOEXEC))
		return;
	if (pipe2(err, O_CLOEXEC)) {
		close(out[0]);
		close(out[1]);
		return;
	}

	pid_t pid = fork();
	if (pid == 0)
		exec_child(path, argv, changes, out[1], err[1]);
	close(out[1]);
	close(err[1]);

	struct channel channels[2] = {
		{ out[0], ret_process->out, 0, sizeof(ret_process->out) - 1 },
		{ err[0], ret_process->err, 0, sizeof(ret_process->err) - 1 },
	};
	if (pid < 0)
		deadline_ms = 0;
	read_channels(channels, deadline_ms);
	if (pid < 0)
		return;
	ret_process->is_started = true;
	if (wait_until(pid, &ret_process->status, deadline_ms))
		return;
	ret_process->has_timed_out = true;
	kill(pid, SIGKILL);
	wait_until(pid, &ret_process->status, now_ms() + KILL_WAIT_MS);
}

void gmt_doctor_subprocess_error_line(const struct gmt_doctor_subprocess *process, const char *word,
	char *ret_line, size_t line_bytes)
{
	const char *end = process->err + strlen(process->err);
	const char *line = word ? strstr(process->err, word) : NULL;

	if (!line)
		/* The reason for the end of a process is usually its last message. */
		for (line = end; line > process->err && line[-1] == '\n'; line--)
			;
	while (line > process->err && line[-1] != '\n')
		line--;

	size_t length = strcspn(line, "\n");
	if (length >= line_bytes)
		length = line_bytes - 1;
	memcpy(ret_line, line, length);
	ret_line[length] = 0;
}
