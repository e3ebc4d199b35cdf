/* SPDX-License-Identifier: MIT */
/* Resource limits for a program that is started from here. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/text.h"
#include "tools/doctor/doctor.h"

enum { ADDRESSES_MIB = 1024, PROCESSES = 32 };

static bool is_below(int which, uint64_t wanted, uint64_t *ret_limit)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)which, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return false;
	*ret_limit = limit.rlim_cur;
	return *ret_limit < wanted;
}

static bool read_number(const char *path, uint64_t *ret_number)
{
	FILE *file = fopen(path, "re");
	bool is_read = file && fscanf(file, "%" SCNu64, ret_number) == 1;

	if (file)
		fclose(file);
	return is_read;
}

void gmt_doctor_limits(const struct gmt_doctor *doctor, struct gmt_doctor_finding *finding)
{
	uint64_t limit, max, now;

	(void)doctor;
	if (is_below(RLIMIT_FSIZE, UINT64_MAX, &limit)) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"file size at most %s (ulimit -f): a recording stops there, "
			"and its end is lost if the program is killed",
			gmt_text_size(limit).text);
	} else if (is_below(RLIMIT_AS, (uint64_t)ADDRESSES_MIB << 20, &limit)) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"address space at most %s (ulimit -v); the recorder needs some hundred MiB of it",
			gmt_text_size(limit).text);
	} else if (is_below(RLIMIT_NPROC, PROCESSES, &limit)) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"%" PRIu64
			" processes and threads (ulimit -u); the recorder adds a thread to each process",
			limit);
	} else if (read_number("/sys/fs/cgroup/pids.max", &max) &&
		read_number("/sys/fs/cgroup/pids.current", &now) && now + PROCESSES > max) {
		gmt_doctor_finding_set(finding, GMT_FINDING_WARNING,
			"%" PRIu64 " of %" PRIu64
			" processes and threads of this container are in use; the recorder adds a thread to "
			"each process",
			now, max);
		gmt_doctor_finding_advise(finding,
			"raise the limit of the container (docker run --pids-limit)");
	} else {
		gmt_doctor_finding_set(finding, GMT_FINDING_OK,
			"file size, address space and processes: large enough");
	}
}
