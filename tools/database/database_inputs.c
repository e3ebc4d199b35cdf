/* SPDX-License-Identifier: MIT */
#include "tools/database/database_inputs.h"

#include <sys/stat.h>

#include "tools/output/exit_codes.h"
#include "tools/output/message.h"

static bool has_folder(int count, char **operands)
{
	struct stat status;

	for (int i = 0; i < count; i++)
		if (!stat(operands[i], &status) && S_ISDIR(status.st_mode))
			return true;
	return false;
}

static int add_path(struct gmt_database_inputs *inputs, const char *path)
{
	const char **slot = gmt_vec_push(&inputs->paths);

	if (slot) {
		*slot = path;
		return 0;
	}
	gmt_message_error("out of memory");
	return GMT_EXIT_UNREADABLE;
}

/* Lists the recordings among the files. Other files of a folder are not the user's concern. */
static int add_recordings(struct gmt_database_inputs *inputs, int count, char **operands)
{
	const struct gmt_job_files *files = &inputs->files;
	int code = gmt_job_files_find(&inputs->files, count, operands);

	if (!code)
		code = gmt_job_files_read_summaries(&inputs->files);
	for (size_t i = 0; i < files->remarks.count; i++)
		gmt_message_warning("%s", files->remarks.items[i]);
	for (size_t i = 0; !code && i < files->files.count; i++) {
		const struct gmt_job_file *file = &files->files.items[i];

		if (file->kind == GMT_JOB_FILE_RECORDING && file->lacks_header && !file->is_operand)
			gmt_message_warning("%s: is left out: it is empty, or not a recording", file->path);
		else if (file->kind == GMT_JOB_FILE_RECORDING)
			code = add_path(inputs, file->path);
	}
	if (code || inputs->paths.count)
		return code;
	gmt_message_error("%s: there is no recording in this folder", operands[0]);
	return GMT_EXIT_UNREADABLE;
}

int gmt_database_inputs_find(struct gmt_database_inputs *ret_inputs, int count, char **operands)
{
	int code = 0;

	if (has_folder(count, operands))
		return add_recordings(ret_inputs, count, operands);
	for (int i = 0; !code && i < count; i++)
		code = add_path(ret_inputs, operands[i]);
	return code;
}

void gmt_database_inputs_fini(struct gmt_database_inputs *inputs)
{
	gmt_job_files_fini(&inputs->files);
	gmt_vec_fini(&inputs->paths);
}
