/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/files_parallel.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/pages.h"
#include "containers/vec.h"
#include "tools/output/memory.h"
#include "tools/output/message.h"
#include "tools/pipeline/work.h"

/* The result of a process, in memory shared with its parent. */
struct result {
	bool is_over; /* the process finished its report */
	bool is_incomplete;
	bool lacked_memory;
	int code;
};

struct worker {
	pid_t pid; /* 0: no process */
	int out, err; /* memory files with its stdout and stderr */
};

struct gmt_files_parallel {
	const struct gmt_files *files;
	struct gmt_files_output output; /* state before the first recording */
	int at_once;
	int started; /* all recordings with a lower number were started, or starting them failed */
	int running;
	struct result *results;
	GMT_VEC(struct worker) workers; /* by number of the recording */
	struct gmt_progress progress;
};

/* Returns 1 if the number cannot be found out. */
static int processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

/* Reports on a recording, in the child process. */
static void tell(struct gmt_files_parallel *beside, int index, const struct worker *worker)
{
	struct gmt_files_output output = beside->output;
	struct result *result = &beside->results[index];

	output.file = output.json.file = fdopen(worker->out, "w");
	if (!output.file || dup2(worker->err, STDERR_FILENO) < 0)
		return;
	gmt_memory_share((unsigned)beside->at_once);
	result->code = gmt_work_exit_code(beside->files->tell(beside->files->user,
		beside->files->paths[index], &output));
	result->is_incomplete = output.is_incomplete;
	result->lacked_memory = gmt_pages_has_refused();
	result->is_over = !fflush(output.file) && !ferror(output.file);
}

static void close_outputs(struct worker *worker)
{
	if (worker->out >= 0)
		close(worker->out);
	if (worker->err >= 0)
		close(worker->err);
	worker->out = worker->err = -1;
}

static void start(struct gmt_files_parallel *beside, int index)
{
	struct worker *worker = &beside->workers.items[index];
	pid_t parent = getpid(), pid = -1;

	worker->out = memfd_create("gpumemtrace-output", MFD_CLOEXEC);
	worker->err = memfd_create("gpumemtrace-errors", MFD_CLOEXEC);
	if (worker->out >= 0 && worker->err >= 0)
		pid = fork();
	if (!pid) {
		/* If the parent ends, its children end too, because their output would not be read. */
		if (!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent)
			tell(beside, index, worker);
		/* _exit does not flush the other stdio buffers, which belong to the parent. */
		_exit(0);
	}
	if (pid < 0) {
		close_outputs(worker);
		return;
	}
	worker->pid = pid;
	beside->running++;
}

static void start_some(struct gmt_files_parallel *beside)
{
	while (beside->started < beside->files->count && beside->running < beside->at_once)
		start(beside, beside->started++);
}

struct gmt_files_parallel *gmt_files_parallel_open(const struct gmt_files *files,
	const struct gmt_files_output *output)
{
	struct gmt_files_parallel *beside;
	int at_once = processors();

	if (at_once > files->count)
		at_once = files->count;
	if (at_once < 2)
		return NULL;
	beside = gmt_pages_grow(NULL, 0, sizeof(*beside));
	if (!beside)
		return NULL;
	beside->files = files;
	beside->output = *output;
	beside->at_once = at_once;
	beside->results = mmap(NULL, (size_t)files->count * sizeof(*beside->results),
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (beside->results == MAP_FAILED || !gmt_vec_reserve(&beside->workers, (size_t)files->count)) {
		gmt_files_parallel_close(beside);
		return NULL;
	}
	start_some(beside);
	return beside;
}

/* Waits until the process has ended. Shows the progress on a terminal. */
static void wait_for(struct gmt_files_parallel *beside, int index)
{
	const struct timespec a_moment = { .tv_nsec = 20000000 };
	bool is_watched = isatty(STDERR_FILENO);
	pid_t got;

	while ((got = waitpid(beside->workers.items[index].pid, NULL, is_watched ? WNOHANG : 0)) == 0 ||
		(got < 0 && errno == EINTR)) {
		if (got)
			continue;
		gmt_progress_step(&beside->progress, "recordings", (uint64_t)index,
			(uint64_t)beside->files->count);
		nanosleep(&a_moment, NULL);
	}
	gmt_progress_end(&beside->progress);
}

static void copy(int fd, FILE *file)
{
	char bytes[1 << 16];
	off_t at = 0;
	ssize_t got;

	while ((got = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		fwrite(bytes, 1, (size_t)got, file);
		at += got;
	}
}

static void write_output(const struct gmt_files_parallel *beside, const struct worker *worker,
	struct gmt_files_output *output)
{
	struct gmt_json *json = &output->json;
	bool is_any = lseek(worker->out, 0, SEEK_END) > 0;

	if (is_any && beside->files->json && json->needs_comma)
		fputc(',', output->file);
	copy(worker->out, output->file);
	json->needs_comma |= is_any && beside->files->json;
}

bool gmt_files_parallel_take(struct gmt_files_parallel *beside, int index,
	struct gmt_files_output *output, int *ret_code)
{
	struct worker *worker = beside ? &beside->workers.items[index] : NULL;
	const struct result *result;

	if (!worker || !worker->pid)
		return false;
	wait_for(beside, index);
	worker->pid = 0;
	beside->running--;
	start_some(beside);
	result = &beside->results[index];
	if (!result->is_over || result->lacked_memory) {
		close_outputs(worker);
		return false;
	}
	copy(worker->err, stderr);
	write_output(beside, worker, output);
	close_outputs(worker);
	output->is_incomplete |= result->is_incomplete;
	*ret_code = result->code;
	return true;
}

void gmt_files_parallel_close(struct gmt_files_parallel *beside)
{
	if (!beside)
		return;
	if (beside->results && beside->results != MAP_FAILED)
		munmap(beside->results, (size_t)beside->files->count * sizeof(*beside->results));
	gmt_vec_fini(&beside->workers);
	gmt_pages_free(beside, sizeof(*beside));
}
