/* SPDX-License-Identifier: MIT */
#include "tools/database/nsight_views.h"

/* An id of a process has the pid from bit 24 on; that of a thread adds the kernel's thread id. */
#define GLOBAL_PID "process.pid * 16777216"

/* The memory that the CUDA driver handed out. ENUM_CUDA_MEM_KIND has the numbers of memKind. */
#define USAGE_EVENT(time, operation) \
	"SELECT " time " AS start, " GLOBAL_PID " AS globalPid," \
	" CASE WHEN blocks.device >= 0 THEN blocks.device END AS deviceId, NULL AS contextId," \
	" blocks.address, NULL AS pc, blocks.size_bytes AS bytes," \
	" CASE blocks.space WHEN 'pinned' THEN 1 WHEN 'registered' THEN 1 WHEN 'vmm_host' THEN 1" \
	" WHEN 'array' THEN 3 WHEN 'managed' THEN 4 ELSE 2 END AS memKind, " operation \
	" AS memoryOperationType, NULL AS name, NULL AS correlationId, NULL AS streamId," \
	" NULL AS localMemoryPoolAddress, NULL AS localMemoryPoolReleaseThreshold," \
	" NULL AS localMemoryPoolSize, NULL AS localMemoryPoolUtilizedSize," \
	" NULL AS importedMemoryPoolAddress, NULL AS importedMemoryPoolProcessId" \
	" FROM blocks JOIN process USING (recording)" \
	" WHERE blocks.layer = 'cuda' AND " time " IS NOT NULL"

/* eventType 59 is a range that a thread pushed and popped, 60 a range between two marks. */
#define NVTX_EVENTS \
	"SELECT phases.begin_time_ns AS start, phases.end_time_ns AS \"end\"," \
	" CASE phases.source WHEN 'nvtx' THEN 59 ELSE 60 END AS eventType, NULL AS rangeId," \
	" NULL AS category, NULL AS color, phases.name AS text, " GLOBAL_PID \
	" + ifnull(phases.thread_tid, 0) AS globalTid, NULL AS endGlobalTid, NULL AS textId," \
	" 0 AS domainId, NULL AS uint64Value, NULL AS int64Value, NULL AS doubleValue," \
	" NULL AS jsonTextId FROM phases JOIN process USING (recording)"

const char gmt_nsight_views[] =
	"CREATE VIEW StringIds AS SELECT text_id AS id, text AS value FROM texts;\n"
	"CREATE VIEW ENUM_CUDA_MEM_KIND(id, name, label) AS VALUES"
	"(0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'),"
	"(1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'),"
	"(2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device'),"
	"(3, 'CUDA_MEMOPR_MEMORY_KIND_ARRAY', 'Array'),"
	"(4, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED', 'Managed');\n"
	"CREATE VIEW ENUM_CUDA_DEV_MEM_EVENT_OPER(id, name, label) AS VALUES"
	"(0, 'CUDA_DEV_MEM_EVENT_OPR_ALLOCATION', 'Allocation'),"
	"(1, 'CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION', 'Deallocation');\n"
	"CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS AS " USAGE_EVENT("blocks.made_time_ns",
		"0") " UNION ALL " USAGE_EVENT("blocks.freed_time_ns",
		"1") ";\n"
			 "CREATE VIEW NVTX_EVENTS AS " NVTX_EVENTS ";\n";
