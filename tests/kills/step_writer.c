/* SPDX-License-Identifier: MIT */
/*
 * step_writer RECORDING MEMORY PID LOG BURST SYNCS: runs the writer of process PID (killed.c,
 * bursts=BURST, one thread) one instruction at a time. It stops when the writer has made SYNCS sync
 * points with a burst each.
 *
 * A kill at an instruction would leave the state of that moment: words of the journal and the
 * rings, and the length of the file. After each change of the state, the recording must have every
 * event of the log once. Prints the number of instructions and of different states.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare_with_log.h"
#include "shared_memory/shared_recording_reader.h"

enum {
	STEPS_MOST = 100000000,
	WAIT_MS = 120000 /* for things that come at once: only a failure takes so long */
};

/* The words that decide which events a recovered recording has. */
struct state {
	uint64_t used_bytes, base_stamp, slots, rings[LOGGED_THREADS][3];
	int64_t file_bytes;
};

static struct gmt_shared_recording_header *header;
static const char *recording_path, *memory_path;
static int recording_fd;

static const struct gmt_shared_recording_journal *journal(void)
{
	return (const void *)((const char *)header + header->journal_offset);
}

static struct state state_now(void)
{
	struct state state = { .used_bytes = journal()->used_bytes,
		.base_stamp = journal()->base_stamp };
	struct stat status;

	state.slots = header->slots_used;
	for (uint64_t slot = 0; slot < state.slots && slot < LOGGED_THREADS; slot++) {
		const struct gmt_ring *ring = (const void *)((const char *)header + header->rings_offset +
			slot * header->ring_stride);

		state.rings[slot][0] = ring->magic;
		state.rings[slot][1] = ring->consumed;
		state.rings[slot][2] = ring->published;
	}
	if (!fstat(recording_fd, &status))
		state.file_bytes = status.st_size;
	return state;
}

static pid_t writer_of(pid_t pid)
{
	char path[512], name[32];
	pid_t found = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	for (struct dirent *task; tasks && !found && (task = readdir(tasks));) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", (int)pid, task->d_name);

		FILE *file = fopen(path, "r");
		if (file && fgets(name, sizeof(name), file) && !strcmp(name, "gpumemtrace\n"))
			found = atoi(task->d_name);
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

/* Waits, because the recorder's thread sets its own name after its start. */
static pid_t wait_for_writer(pid_t pid)
{
	pid_t found = 0;

	for (int i = 0; i < WAIT_MS && !(found = writer_of(pid)); i++)
		usleep(1000);
	return found;
}

/* Waits until the program has made all allowed calls: it must not change a state during a check. */
static bool wait_for_burst(struct call_log *call_log, uint64_t calls)
{
	for (int i = 0; i < WAIT_MS && call_log->threads[0].done < calls; i++)
		usleep(1000);
	if (call_log->threads[0].done == calls)
		return true;
	printf("%llu calls instead of %llu\n", (unsigned long long)call_log->threads[0].done,
		(unsigned long long)calls);
	return false;
}

/*
 * Returns whether the writer has consumed all events. A sync point that began before the burst has
 * none of its events.
 */
static bool has_taken_all(const struct state *state)
{
	for (uint64_t slot = 0; slot < state->slots && slot < LOGGED_THREADS; slot++)
		if (state->rings[slot][1] != state->rings[slot][2])
			return false;
	return true;
}

static int check_state(struct call_log *call_log)
{
	struct gmt_shared_recording *shared_recording;
	struct gmt_recording *recording;
	struct gmt_error error = { 0 };

	if (gmt_shared_recording_open(memory_path, &shared_recording, &error)) {
		puts(error.text);
		return 1;
	}
	struct gmt_recording_load_options options = { .shared_recording = shared_recording };
	int answer = 1;
	if (gmt_recording_load(recording_path, &options, &recording, &error)) {
		puts(error.text);
	} else {
		answer = compare_with_log(recording, call_log, HAS_ALL_CALLS, NULL);
		if (!gmt_recording_complete(recording)) {
			puts("it is not complete");
			answer = 1;
		}
		gmt_recording_free(recording);
	}
	gmt_shared_recording_close(shared_recording);
	return answer;
}

/* Steps until the writer has made a sync point with all events, and its journal starts there. */
static int step_through(pid_t writer, struct call_log *call_log, uint64_t *steps, uint64_t *states)
{
	struct state before = state_now();
	bool is_synced = false;
	int status;

	for (uint64_t i = 0; i < STEPS_MOST && !is_synced; i++) {
		if (ptrace(PTRACE_SINGLESTEP, writer, NULL, NULL) ||
			waitpid(writer, &status, __WALL) != writer || !WIFSTOPPED(status)) {
			perror("stepping");
			return 2;
		}
		++*steps;

		struct state now = state_now();
		if (!memcmp(&now, &before, sizeof(now)))
			continue;
		++*states;
		if (check_state(call_log)) {
			printf("after step %llu, state %llu: journal %llu at %llu, file %lld\n",
				(unsigned long long)*steps, (unsigned long long)*states,
				(unsigned long long)now.used_bytes, (unsigned long long)now.base_stamp,
				(long long)now.file_bytes);
			return 1;
		}
		is_synced = now.base_stamp != before.base_stamp && has_taken_all(&now);
		before = now;
	}
	return is_synced ? 0 : 2;
}

static void *map(const char *path, size_t bytes)
{
	int fd = open(path, O_RDONLY);
	void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	return memory;
}

int main(int argc, char **argv)
{
	if (argc != 7)
		return 2;
	recording_path = argv[1];
	memory_path = argv[2];
	recording_fd = open(recording_path, O_RDONLY);
	header = map(memory_path, sizeof(*header));
	header = map(memory_path, header->size_bytes);

	struct call_log *call_log = map(argv[4], sizeof(*call_log));
	pid_t pid = atoi(argv[3]), writer = wait_for_writer(pid);
	uint64_t steps = 0, states = 0, burst = strtoull(argv[5], NULL, 10), calls = burst;
	int status, answer = 0;

	if (!wait_for_burst(call_log, calls))
		return 2;
	if (!writer || ptrace(PTRACE_SEIZE, writer, NULL, NULL) ||
		ptrace(PTRACE_INTERRUPT, writer, NULL, NULL) ||
		waitpid(writer, &status, __WALL) != writer) {
		perror("tracing the writer");
		return 77;
	}
	for (int sync = atoi(argv[6]); sync && !answer; sync--) {
		kill(pid, SIGUSR1);
		answer = wait_for_burst(call_log, calls += burst)
			? step_through(writer, call_log, &steps, &states)
			: 2;
	}
	if (!answer)
		printf("%llu instructions, %llu states\n", (unsigned long long)steps,
			(unsigned long long)states);
	return answer;
}
