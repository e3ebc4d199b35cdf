/* SPDX-License-Identifier: MIT */
#include "tools/report/report_each_parallel.h"

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
#include "source/read_ahead.h"
#include "tools/output/memory_limit.h"
#include "tools/output/message.h"
#include "tools/output/pager.h"
#include "tools/pipeline/work_limit.h"
#include "tools/recordings/standard_input.h"

/* The result of a process, in memory shared with its parent. */
struct result {
	bool is_done; /* the process wrote its whole report */
	bool is_incomplete;
	bool ran_out_of_memory;
	int code;
};

struct worker {
	pid_t pid; /* 0: no process */
	int out, err; /* files in memory with its stdout and stderr */
};

struct gmt_report_each_parallel {
	const struct gmt_report_each *files;
	struct gmt_report_each_output output; /* copied for each process */
	int max_running;
	int next; /* number of the next recording to start */
	int running;
	struct result *results;
	GMT_VEC(struct worker) workers; /* by number of the recording */
	struct gmt_progress progress;
};

/* Returns the number of processors for this process; 1 if it is not known. */
static int processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

/* Reports on a recording, in the child process. */
static void report(struct gmt_report_each_parallel *parallel, int index,
	const struct worker *worker)
{
	struct gmt_report_each_output output = parallel->output;
	struct result *result = &parallel->results[index];

	output.file = output.json.file = fdopen(worker->out, "w");
	if (!output.file || dup2(worker->err, STDERR_FILENO) < 0)
		return;
	gmt_memory_limit_divide((unsigned)parallel->max_running);
	if (parallel->max_running >= processors())
		gmt_read_ahead_use_no_thread();
	result->code = gmt_work_limit_exit_code(parallel->files->report(parallel->files->context,
		parallel->files->paths[index], &output));
	result->is_incomplete = output.is_incomplete;
	result->ran_out_of_memory = gmt_pages_has_refused();
	result->is_done = !fflush(output.file) && !ferror(output.file);
}

static void close_outputs(struct worker *worker)
{
	if (worker->out >= 0)
		close(worker->out);
	if (worker->err >= 0)
		close(worker->err);
	worker->out = worker->err = -1;
}

static void start(struct gmt_report_each_parallel *parallel, int index)
{
	struct worker *worker = &parallel->workers.items[index];
	pid_t parent = getpid(), pid = -1;

	/* After a failed process, this process could not read the pipe again. */
	if (gmt_standard_input_is(parallel->files->paths[index]))
		return;
	worker->out = memfd_create("gpumemtrace-output", MFD_CLOEXEC);
	worker->err = memfd_create("gpumemtrace-errors", MFD_CLOEXEC);
	if (worker->out >= 0 && worker->err >= 0)
		pid = gmt_pager_fork();
	if (!pid) {
		/* The kernel ends the child if its parent ends, because its output is no longer needed. */
		if (!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent)
			report(parallel, index, worker);
		/* _exit does not flush the other stdio buffers, which belong to the parent. */
		_exit(0);
	}
	if (pid < 0) {
		close_outputs(worker);
		return;
	}
	worker->pid = pid;
	parallel->running++;
}

static void start_next(struct gmt_report_each_parallel *parallel)
{
	while (parallel->next < parallel->files->count && parallel->running < parallel->max_running)
		start(parallel, parallel->next++);
}

struct gmt_report_each_parallel *gmt_report_each_parallel_open(const struct gmt_report_each *files,
	const struct gmt_report_each_output *output)
{
	struct gmt_report_each_parallel *parallel;
	int max_running = processors();

	if (max_running > files->count)
		max_running = files->count;
	if (max_running < 2)
		return NULL;
	parallel = gmt_pages_grow(NULL, 0, sizeof(*parallel));
	if (!parallel)
		return NULL;
	parallel->files = files;
	parallel->output = *output;
	parallel->max_running = max_running;
	parallel->results = mmap(NULL, (size_t)files->count * sizeof(*parallel->results),
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (parallel->results == MAP_FAILED ||
		!gmt_vec_reserve(&parallel->workers, (size_t)files->count)) {
		gmt_report_each_parallel_close(parallel);
		return NULL;
	}
	start_next(parallel);
	return parallel;
}

/* Waits until the process has ended. Shows the progress on a terminal. */
static void wait_for(struct gmt_report_each_parallel *parallel, int index)
{
	const struct timespec poll_interval = { .tv_nsec = 20000000 };
	bool is_watched = isatty(STDERR_FILENO);
	pid_t ended_pid;

	while ((ended_pid = waitpid(parallel->workers.items[index].pid, NULL,
				is_watched ? WNOHANG : 0)) == 0 ||
		(ended_pid < 0 && errno == EINTR)) {
		if (ended_pid)
			continue;
		gmt_progress_step(&parallel->progress, "recordings", (uint64_t)index,
			(uint64_t)parallel->files->count);
		nanosleep(&poll_interval, NULL);
	}
	gmt_progress_end(&parallel->progress);
}

static void copy(int fd, FILE *file)
{
	char bytes[1 << 16];
	off_t at = 0;
	ssize_t read_bytes;

	while ((read_bytes = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		fwrite(bytes, 1, (size_t)read_bytes, file);
		at += read_bytes;
	}
}

static void write_output(const struct worker *worker, struct gmt_report_each_output *output)
{
	if (lseek(worker->out, 0, SEEK_END) > 0)
		gmt_report_each_begin_text(output);
	copy(worker->out, output->file);
}

bool gmt_report_each_parallel_take(struct gmt_report_each_parallel *parallel, int index,
	struct gmt_report_each_output *output, int *ret_code)
{
	struct worker *worker = parallel ? &parallel->workers.items[index] : NULL;
	const struct result *result;

	if (!worker || !worker->pid)
		return false;
	wait_for(parallel, index);
	worker->pid = 0;
	parallel->running--;
	start_next(parallel);
	result = &parallel->results[index];
	if (!result->is_done || result->ran_out_of_memory) {
		close_outputs(worker);
		return false;
	}
	copy(worker->err, stderr);
	write_output(worker, output);
	close_outputs(worker);
	output->is_incomplete |= result->is_incomplete;
	*ret_code = result->code;
	return true;
}

void gmt_report_each_parallel_close(struct gmt_report_each_parallel *parallel)
{
	if (!parallel)
		return;
	if (parallel->results && parallel->results != MAP_FAILED)
		munmap(parallel->results, (size_t)parallel->files->count * sizeof(*parallel->results));
	gmt_vec_fini(&parallel->workers);
	gmt_pages_free(parallel, sizeof(*parallel));
}
