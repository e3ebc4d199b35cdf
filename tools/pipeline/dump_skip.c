/* SPDX-License-Identifier: MIT */
#include "tools/pipeline/dump_skip.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader/load/clock.h"
#include "tools/recordings/load_input.h"
#include "tools/recordings/shared_recordings.h"
#include "tools/recordings/standard_input.h"
#include "tools/output/message.h"
#include "format/encoding/decode_rows.h"

bool gmt_dump_skip_find_parts(const char *path, struct gmt_members *ret_members)
{
	struct stat status;
	/* Do not open a pipe here: to close it again would end its writer. */
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

/* Reads the clocks of the parts that are not left out. */
static int read_clocks(struct gmt_dump_choice *choice, const char *path, bool only_first)
{
	struct gmt_error error = { 0 };
	struct gmt_shared_recording *shared_recording =
		gmt_standard_input_is(path) ? NULL : gmt_shared_recordings_find(path, NULL);
	struct gmt_source *source;
	enum gmt_status status = gmt_input_open(path, shared_recording, &source, &error);

	if (!status) {
		/*
		 * A shared-memory recording itself says where the file continues, so no part is left out.
		 */
		if (shared_recording)
			choice->members.count = 0;
		gmt_source_leave_out(source, &choice->members);
		status = read_rows(&choice->clocks, source, only_first, &error);
		gmt_source_close(source);
	}
	gmt_shared_recording_close(shared_recording);
	return status ? gmt_message_failure(&error) : 0;
}

static bool has_clock(const struct gmt_member *member)
{
	return member->description.clock.stamp;
}

static bool add_clocks_of_members(struct gmt_dump_choice *choice)
{
	for (size_t i = 0; i < choice->members.count; i++) {
		const struct gmt_member *member = &choice->members.items[i];

		if (has_clock(member) &&
			!add_rows(&choice->clocks, GMT_RECORD_CLOCK, &member->description.clock, 1))
			return false;
	}
	return true;
}

/*
 * Leaves out the parts that lie far from the chosen times, according to the clocks known so far. A
 * stamp is converted to a time by the clocks before and after it. So the nearest parts with clocks
 * on both sides are kept. The parts with the first two clocks are kept too, because the start of
 * the recording is computed from them.
 */
static void leave_out_far(struct gmt_dump_choice *choice)
{
	const uint64_t slack_ns = 1000000000;
	uint64_t from, until;
	size_t count = choice->members.count, first = count, last = 0, with_clocks = 0;
	struct gmt_member *items = choice->members.items;

	gmt_dump_choice_set_times(choice);
	from = choice->from;
	until = choice->until;
	from = from == UINT64_MAX || from < slack_ns ? 0 : from - slack_ns;
	until += until < UINT64_MAX - slack_ns ? slack_ns : 0;
	for (size_t i = 0; i < count; i++) {
		if (first == count &&
			gmt_clock_time_ns(&choice->clocks, items[i].description.max_stamp) >= from)
			first = i;
		if (gmt_clock_time_ns(&choice->clocks, items[i].description.min_stamp) <= until)
			last = i;
	}

	/* If the chosen times lie between two parts, `last` is before `first`. */
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

int gmt_dump_skip_read_clocks(struct gmt_dump_choice *choice, const char *path)
{
	int code;

	if (choice->members.count) {
		code = read_clocks(choice, path, true);
		if (code)
			return code;
		if (!add_clocks_of_members(choice)) {
			gmt_message_error("out of memory");
			return gmt_status_exit_code(GMT_NO_MEMORY);
		}
		gmt_clock_prepare(&choice->clocks);
		leave_out_far(choice);
		choice->clocks.clocks.count = 0;
		choice->clocks.has_process = false;
	}
	code = read_clocks(choice, path, false);
	gmt_clock_prepare(&choice->clocks);
	return code;
}

/* Returns whether a part may have rows that `dump` prints, as far as its description says. */
static bool has_wanted(const struct gmt_dump_choice *choice,
	const struct gmt_member_description *description)
{
	uint64_t kinds = description->kinds & choice->kinds;
	bool is_in_time =
		gmt_dump_choice_is_in_time(choice, description->min_stamp, description->max_stamp);
	bool has_device = choice->device > INT16_MAX ||
		description->devices &
			(gmt_member_device_bit((int32_t)choice->device) |
				gmt_member_device_bit(GMT_DEVICE_UNKNOWN));

	for (uint32_t number = 0; kinds; number++, kinds >>= 1) {
		const struct gmt_record_info *record = gmt_record_info(number);

		if (kinds & 1 &&
			(!record ||
				((gmt_dump_choice_moment_of(choice, record) == GMT_DUMP_NO_FIELD || is_in_time) &&
					(gmt_dump_choice_device_of(choice, record) == GMT_DUMP_NO_FIELD ||
						has_device))))
			return true;
	}
	return false;
}

void gmt_dump_skip_mark_parts(struct gmt_dump_choice *choice)
{
	for (size_t i = 0; i < choice->members.count; i++)
		choice->members.items[i].is_left_out =
			!has_wanted(choice, &choice->members.items[i].description);
}
