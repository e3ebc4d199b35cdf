/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/dump_members.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/load/clock.h"
#include "tools/recordings/load_input.h"
#include "tools/recordings/shared_recordings.h"
#include "tools/recordings/standard_input.h"
#include "tools/output/message.h"
#include "format/encoding/decode_rows.h"

bool gmt_dump_members_find(const char *path, struct gmt_members *ret_members)
{
	struct stat status;
	/* Do not open a pipe here: closing it would end its writer. */
	int fd = !stat(path, &status) && S_ISREG(status.st_mode)
		? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
		: -1;
	bool done =
		fd < 0 || fstat(fd, &status) || gmt_members_find(fd, (uint64_t)status.st_size, ret_members);

	if (fd >= 0)
		close(fd);
	if (!done)
		gmt_message_error("out of memory");
	return done;
}

static bool add_rows(struct gmt_recording *clocks, uint32_t kind, const void *rows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (kind == GMT_RECORD_PROCESS) {
			const struct gmt_process *row = (const struct gmt_process *)rows + i;

			/* Only the first process record counts. */
			if (clocks->has_process)
				continue;
			clocks->has_process = true;
			clocks->process.start_stamp = row->start_stamp;
			clocks->process.start_time_ns = row->start_time_ns;
		} else {
			const struct gmt_clock *row = (const struct gmt_clock *)rows + i;
			struct gmt_recording_clock *clock = gmt_vec_push(&clocks->clocks);

			if (!clock)
				return false;
			*clock =
				(struct gmt_recording_clock){ row->stamp, row->monotonic_ns, row->realtime_ns };
		}
	}
	return true;
}

/*
 * Reads the clocks up to the first error in the file, or (`only_first`) up to the first clock. The
 * error is reported when `dump` prints the rows.
 */
static enum gmt_status read_rows(struct gmt_recording *clocks, struct gmt_source *source,
	bool only_first, struct gmt_error *error)
{
	struct gmt_decoder decoder = { 0 };
	struct gmt_block block;
	enum gmt_status status = GMT_OK;
	const void *rows;

	while (!status && !(only_first && clocks->clocks.count) &&
		!gmt_source_next(source, &block, NULL)) {
		if (block.kind != GMT_RECORD_PROCESS && block.kind != GMT_RECORD_CLOCK)
			continue;
		if (gmt_decode_rows(&decoder, &block, &rows, NULL))
			break;
		if (!add_rows(clocks, block.kind, rows, block.rows))
			status = gmt_error_set(error, GMT_NO_MEMORY, "out of memory");
	}
	gmt_decoder_fini(&decoder);
	return status;
}

/* Reads the clocks of the members that are not left out. */
static int read_clocks(struct gmt_dump_filter *filter, const char *path, bool only_first)
{
	struct gmt_error error = { 0 };
	struct gmt_shared_recording *shared_recording =
		gmt_standard_input_is(path) ? NULL : gmt_shared_recordings_find(path, NULL);
	struct gmt_source *source;
	enum gmt_status status = gmt_input_open(path, shared_recording, &source, &error);

	if (!status) {
		/* A shared-memory recording knows where the file continues, so no member is left out. */
		if (shared_recording)
			filter->members.count = 0;
		gmt_source_leave_out(source, &filter->members);
		status = read_rows(&filter->clocks, source, only_first, &error);
		gmt_source_close(source);
	}
	gmt_shared_recording_close(shared_recording);
	return status ? gmt_message_failure(&error) : 0;
}

static bool has_clock(const struct gmt_member *member)
{
	return member->description.clock.stamp;
}

static bool add_clocks_of_members(struct gmt_dump_filter *filter)
{
	for (size_t i = 0; i < filter->members.count; i++) {
		const struct gmt_member *member = &filter->members.items[i];

		if (has_clock(member) &&
			!add_rows(&filter->clocks, GMT_RECORD_CLOCK, &member->description.clock, 1))
			return false;
	}
	return true;
}

/*
 * Leaves out the members that lie far from the filter's times, according to the clocks known so
 * far. The clocks before and after a stamp convert it to a time. So this function keeps the nearest
 * members with clocks on both sides. It also keeps the members with the first two clocks, because
 * the start of the recording is computed from them.
 */
static void leave_out_distant_members(struct gmt_dump_filter *filter)
{
	const uint64_t slack_ns = 1000000000;
	uint64_t from_ns, until_ns;
	size_t count = filter->members.count, first = count, last = 0, with_clocks = 0;
	struct gmt_member *items = filter->members.items;

	gmt_dump_filter_set_times(filter);
	from_ns = filter->from_ns;
	until_ns = filter->until_ns;
	from_ns = from_ns == UINT64_MAX || from_ns < slack_ns ? 0 : from_ns - slack_ns;
	until_ns += until_ns < UINT64_MAX - slack_ns ? slack_ns : 0;
	for (size_t i = 0; i < count; i++) {
		if (first == count &&
			gmt_clock_time_ns(&filter->clocks, items[i].description.max_stamp) >= from_ns)
			first = i;
		if (gmt_clock_time_ns(&filter->clocks, items[i].description.min_stamp) <= until_ns)
			last = i;
	}

	/* If the filter's times lie between two members, `last` is before `first`. */
	size_t low = first < last ? first : last, high = first < last ? last : first;

	while (low && !has_clock(&items[--low]))
		;
	while (high + 1 < count && !has_clock(&items[++high]))
		;
	for (size_t i = 0; i < count; i++) {
		items[i].is_left_out = with_clocks >= 2 && (i < low || i > high);
		with_clocks += has_clock(&items[i]);
	}
}

int gmt_dump_members_read_clocks(struct gmt_dump_filter *filter, const char *path)
{
	int code;

	if (filter->members.count) {
		code = read_clocks(filter, path, true);
		if (code)
			return code;
		if (!add_clocks_of_members(filter)) {
			gmt_message_error("out of memory");
			return gmt_status_exit_code(GMT_NO_MEMORY);
		}
		gmt_clock_prepare(&filter->clocks);
		leave_out_distant_members(filter);
		filter->clocks.clocks.count = 0;
		filter->clocks.has_process = false;
	}
	code = read_clocks(filter, path, false);
	gmt_clock_prepare(&filter->clocks);
	return code;
}

/* Returns whether a member may have rows that the filter accepts, according to its description. */
static bool may_have_rows(const struct gmt_dump_filter *filter,
	const struct gmt_member_description *description)
{
	uint64_t kinds = description->kinds & filter->kinds;
	bool is_in_time =
		gmt_dump_filter_accepts_span(filter, description->min_stamp, description->max_stamp);
	bool has_device = filter->device > INT16_MAX ||
		description->devices &
			(gmt_member_device_bit((int32_t)filter->device) |
				gmt_member_device_bit(GMT_DEVICE_UNKNOWN));

	for (uint32_t number = 0; kinds; number++, kinds >>= 1) {
		const struct gmt_record_info *record = gmt_record_info(number);

		if (kinds & 1 &&
			(!record ||
				((gmt_dump_filter_stamp_field(filter, record) == GMT_DUMP_NO_FIELD || is_in_time) &&
					(gmt_dump_filter_device_field(filter, record) == GMT_DUMP_NO_FIELD ||
						has_device))))
			return true;
	}
	return false;
}

void gmt_dump_members_leave_out(struct gmt_dump_filter *filter)
{
	for (size_t i = 0; i < filter->members.count; i++)
		filter->members.items[i].is_left_out =
			!may_have_rows(filter, &filter->members.items[i].description);
}
