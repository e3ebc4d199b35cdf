/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "synthetic_recording.h"
#include "temporary_file.h"

#define PACKAGES "/env/lib/python3.12/site-packages/"
#define PROGRAM_PATH "/home/me/bin/train"

/* A frame as a test writes it. A frame with a file is a Python frame. */
struct frame {
	const char *module, *function, *file;
};

#define NATIVE(module_path) { .module = (module_path), .function = "" }
#define FUNCTION(module_path, name) { .module = (module_path), .function = (name) }
#define PYTHON(path) { .file = (path), .function = "f" }
#define DRIVER NATIVE("/usr/lib/x86_64-linux-gnu/libcuda.so.1")
#define RUNTIME NATIVE(PACKAGES "nvidia/cuda_runtime/lib/libcudart.so.12")
#define CACHE \
	FUNCTION(PACKAGES "torch/lib/libc10_cuda.so", \
		"c10::cuda::CUDACachingAllocator::Native::malloc(int)")
#define TORCH NATIVE(PACKAGES "torch/lib/libtorch_cuda.so")
#define TORCH_CPU NATIVE(PACKAGES "torch/lib/libtorch_cpu.so")
#define TORCH_PYTHON NATIVE(PACKAGES "torch/lib/libtorch_python.so")
#define INTERPRETER NATIVE("/usr/bin/python3.12")
#define LIBC NATIVE("/usr/lib/x86_64-linux-gnu/libc.so.6")
#define SCRIPT PYTHON("/home/me/train.py")
#define MODULE_PY PYTHON(PACKAGES "torch/nn/modules/module.py")

static enum gmt_owner_arena last_arena; /* the arena of the last stack that owner_by judged */

/* Returns the owner of a stack, leaf first, by the rules of `text` and the built-in rules. */
static const char *owner_by(const char *text, uint32_t layer, const struct frame *frames,
	size_t count)
{
	static char name[200];
	struct gmt_recording recording = { .executable = PROGRAM_PATH };
	struct gmt_owner_rules rules = { 0 };
	struct gmt_owner_walk walk = { 0 };
	struct gmt_owners owners = { 0 };
	struct gmt_error error = { 0 };

	assert_int_equal(gmt_owner_rules_parse(&rules, text, "mine", &error), GMT_OK);
	assert_int_equal(gmt_owner_rules_add_defaults(&rules, &error), GMT_OK);
	assert_int_equal(gmt_owners_init(&owners, &rules, &recording, &error), GMT_OK);
	for (uint32_t i = 0; i < count; i++) {
		struct gmt_owner_frame frame = {
			.is_python = frames[i].file != NULL,
			.function = frames[i].function,
			.file = frames[i].file ? frames[i].file : "",
			.module = frames[i].module ? frames[i].module : "",
		};

		assert_true(gmt_owners_add_place(&owners, &frame));
		gmt_owners_visit(&owners, &walk, i);
	}
	assert_true(gmt_owners_store(&owners, &walk, 0, 0, false));
	snprintf(name, sizeof(name), "%s",
		gmt_owners_name(&owners, gmt_owners_find(&owners, 0, layer, 0)));
	last_arena = gmt_owners_arena(&owners, 0);
	gmt_owners_fini(&owners);
	gmt_owner_rules_fini(&rules);
	return name;
}

#define STACK(...) \
	((const struct frame[]){ __VA_ARGS__ }), \
		sizeof((const struct frame[]){ __VA_ARGS__ }) / sizeof(struct frame)
#define CUDA_OWNER(...) owner_by("", GMT_LAYER_CUDA, STACK(__VA_ARGS__))
#define TORCH_OWNER(...) owner_by("", GMT_LAYER_TORCH, STACK(__VA_ARGS__))

static void the_owner_is_the_first_frame_outside_allocators_and_the_runtime(void **state)
{
	(void)state;
	assert_string_equal(CUDA_OWNER(DRIVER, RUNTIME, CACHE, TORCH, TORCH_PYTHON, INTERPRETER,
							SCRIPT),
		"PyTorch");
	assert_string_equal(CUDA_OWNER(DRIVER, NATIVE(PACKAGES "nvidia/cublas/lib/libcublasLt.so.12"),
							NATIVE(PACKAGES "nvidia/cublas/lib/libcublas.so.12"), TORCH, SCRIPT),
		"cuBLAS");
	assert_string_equal(CUDA_OWNER(DRIVER, RUNTIME, NATIVE(PACKAGES "nvidia/nccl/lib/libnccl.so.2"),
							TORCH),
		"NCCL");
	assert_string_equal(CUDA_OWNER(NATIVE(PACKAGES "nvidia/cufft/lib/libcufft.so.11"), TORCH),
		"cuFFT");
	assert_string_equal(CUDA_OWNER(DRIVER, RUNTIME, NATIVE(PROGRAM_PATH), LIBC,
							NATIVE(PROGRAM_PATH)),
		"program");
	assert_string_equal(CUDA_OWNER(DRIVER, NATIVE("/opt/engine/libengine.so.3"),
							NATIVE(PROGRAM_PATH)),
		"libengine.so.3");
}

static void libraries_are_recognized_by_the_file_names_of_wheels_and_copies(void **state)
{
	static const struct {
		const char *module, *owner;
	} cases[] = {
		{ PACKAGES "nvidia/cu13/lib/libcublasLt.so.13", "cuBLAS" },
		{ PACKAGES "torch/lib/libcudnn_engines_precompiled.so.9", "cuDNN" },
		{ PACKAGES "cupy_cuda12x.libs/libcusolver-3c1f.so.11", "cuSOLVER" },
		{ PACKAGES "cupy/_core/core.cpython-312-x86_64-linux-gnu.so", "CuPy" },
		{ PACKAGES "jaxlib/libjax_common.so", "XLA" },
		{ PACKAGES "jax_plugins/xla_cuda12/xla_cuda_plugin.so", "XLA" },
		{ PACKAGES "tensorflow/libtensorflow_cc.so.2", "TensorFlow" },
		{ PACKAGES "rmm/librmm.so", "RMM" },
		{ "/opt/conda/lib/librmm.so", "RMM" },
		{ PACKAGES "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", "FlashAttention" },
		{ PACKAGES "xformers/_C.so", "xformers" },
		{ "/root/.triton/cache/abc/cuda_utils.cpython-312-x86_64-linux-gnu.so", "Triton" },
		{ "/usr/local/lib/libggml-cuda.so", "llama.cpp" },
		{ "/usr/lib/x86_64-linux-gnu/libopencv_core.so.410", "OpenCV" },
		{ "/usr/lib/x86_64-linux-gnu/libucp.so.0", "UCX" },
		{ "/usr/lib/x86_64-linux-gnu/libnvinfer.so.10", "TensorRT" },
		{ "/usr/lib/x86_64-linux-gnu/libnvshmem_host.so.3", "NVSHMEM" },
		{ PACKAGES "somebody/_C.abi3.so", "somebody" },
		{ PACKAGES "somebody/lib/libsomebody.so", "libsomebody.so" },
		{ PACKAGES "fast_ops.cpython-312-x86_64-linux-gnu.so",
			"fast_ops.cpython-312-x86_64-linux-gnu.so" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(CUDA_OWNER(DRIVER,
								NATIVE(PACKAGES "torch/lib/libcudart-8b6a0d3e.so.12"),
								NATIVE(cases[i].module), NATIVE(PROGRAM_PATH)),
			cases[i].owner);
}

static void a_statically_linked_library_is_recognized_by_its_functions(void **state)
{
	(void)state;
	/* NCCL inside PyTorch; the runtime inside a program; a runtime without names inside cuBLAS. */
	assert_string_equal(CUDA_OWNER(DRIVER,
							FUNCTION(PACKAGES "torch/lib/libtorch_cuda.so", "ncclCommInitRank"),
							TORCH),
		"NCCL");
	assert_string_equal(CUDA_OWNER(DRIVER, FUNCTION("/opt/libengine.so", "cudaMalloc"),
							FUNCTION("/opt/libengine.so", "engine::grow(int)"),
							NATIVE(PROGRAM_PATH)),
		"libengine.so");
	assert_string_equal(CUDA_OWNER(DRIVER, FUNCTION(PROGRAM_PATH, "cudaMalloc"),
							FUNCTION(PROGRAM_PATH, "main")),
		"program");
	assert_string_equal(CUDA_OWNER(DRIVER,
							FUNCTION("/opt/libshell.so", "thrust::device_malloc(unsigned long)"),
							NATIVE(PACKAGES "cupy/cuda/thrust.so")),
		"CuPy");
	assert_string_equal(CUDA_OWNER(DRIVER, NATIVE("/x/libcublas_static_user.so"),
							NATIVE(PROGRAM_PATH)),
		"cuBLAS");
	assert_string_equal(CUDA_OWNER(DRIVER,
							FUNCTION("/opt/libengine.so",
								"rmm::mr::cuda_memory_resource::allocate(int)"),
							NATIVE("/opt/libengine.so")),
		"RMM");
}

static void the_library_that_asked_pytorch_for_a_block_owns_it(void **state)
{
	(void)state;
	assert_string_equal(TORCH_OWNER(CACHE, TORCH, TORCH_CPU, TORCH_PYTHON, INTERPRETER, SCRIPT),
		"PyTorch");
	assert_string_equal(TORCH_OWNER(CACHE, TORCH, TORCH_PYTHON, MODULE_PY, SCRIPT), "PyTorch");
	assert_string_equal(TORCH_OWNER(CACHE, TORCH, NATIVE("/home/me/ops/fused.so"), TORCH_PYTHON,
							SCRIPT),
		"fused.so");
	assert_string_equal(TORCH_OWNER(CACHE, TORCH, TORCH_PYTHON,
							PYTHON(PACKAGES "vllm/worker/cache_engine.py"), SCRIPT),
		"vLLM");
	assert_string_equal(TORCH_OWNER(CACHE, TORCH, TORCH_PYTHON, MODULE_PY,
							PYTHON(PACKAGES "deepspeed/runtime/zero/stage3.py")),
		"DeepSpeed");
	/*
	 * The user's own model is between a library's frame and PyTorch's. Then a package without a
	 * rule.
	 */
	assert_string_equal(TORCH_OWNER(CACHE, TORCH, TORCH_PYTHON, MODULE_PY, SCRIPT, MODULE_PY,
							PYTHON(PACKAGES "deepspeed/runtime/engine.py")),
		"PyTorch");
	assert_string_equal(TORCH_OWNER(CACHE, TORCH, PYTHON(PACKAGES "transformers/models/llama.py"),
							PYTHON(PACKAGES "vllm/x.py")),
		"PyTorch");
	assert_string_equal(TORCH_OWNER(CACHE, TORCH, NATIVE(PROGRAM_PATH)), "PyTorch");
	/* A segment for the same stack belongs to PyTorch, which uses it for other requests later. */
	assert_string_equal(CUDA_OWNER(DRIVER, RUNTIME, CACHE, TORCH, NATIVE("/home/me/ops/fused.so"),
							TORCH_PYTHON),
		"PyTorch");
}

static void python_stacks_alone_have_owners(void **state)
{
	(void)state;
	assert_string_equal(TORCH_OWNER(SCRIPT), "PyTorch");
	assert_string_equal(TORCH_OWNER(MODULE_PY, SCRIPT), "PyTorch");
	assert_string_equal(TORCH_OWNER(PYTHON(PACKAGES "xformers/ops/fmha.py"), SCRIPT), "xformers");
	assert_string_equal(CUDA_OWNER(PYTHON(PACKAGES "torch/cuda/__init__.py"), SCRIPT), "PyTorch");
	assert_string_equal(CUDA_OWNER(PYTHON(PACKAGES "numba/cuda/cudadrv/driver.py"), SCRIPT),
		"Numba");
	assert_string_equal(CUDA_OWNER(PYTHON(PACKAGES "unheard_of/pool.py"), SCRIPT), "unheard_of");
	assert_string_equal(CUDA_OWNER(PYTHON("/usr/lib/python3.12/ctypes/__init__.py"), SCRIPT),
		"program");
	assert_string_equal(CUDA_OWNER(PYTHON("<string>")), "program");
	assert_string_equal(CUDA_OWNER(PYTHON("<generated>"), PYTHON(PACKAGES "jax/_src/api.py"),
							SCRIPT),
		"XLA");
}

static void assert_arena(enum gmt_owner_arena arena, const char *owner, const char *found)
{
	assert_string_equal(found, owner);
	assert_int_equal(last_arena, arena);
}

#define XLA(name) FUNCTION(PACKAGES "jax_plugins/xla_cuda12/xla_cuda_plugin.so", name)
#define TENSORFLOW(name) FUNCTION(PACKAGES "tensorflow/libtensorflow_cc.so.2", name)
#define CUPY(name) FUNCTION(PACKAGES "cupy/cuda/memory.cpython-312-x86_64-linux-gnu.so", name)
#define JAX_PY PYTHON(PACKAGES "jax/_src/array.py")

static void an_arena_is_recognized_by_the_function_that_allocates_its_memory(void **state)
{
	(void)state;
	assert_arena(GMT_ARENA_YES, "XLA",
		CUDA_OWNER(DRIVER, XLA("stream_executor::gpu::CudaExecutor::Allocate(unsigned long)"),
			XLA("tsl::BFCAllocator::Extend(unsigned long, unsigned long)"), JAX_PY, SCRIPT));
	assert_arena(GMT_ARENA_YES, "TensorFlow",
		CUDA_OWNER(DRIVER, TENSORFLOW("tsl::BFCAllocator::Extend(unsigned long, unsigned long)"),
			TENSORFLOW("tsl::BFCAllocator::AllocateRaw(unsigned long, unsigned long)"), SCRIPT));
	assert_arena(GMT_ARENA_YES, "CuPy",
		CUDA_OWNER(DRIVER, RUNTIME,
			CUPY("__pyx_f_4cupy_4cuda_6memory_22SingleDeviceMemoryPool__alloc"), SCRIPT));
	assert_arena(GMT_ARENA_YES, "RMM",
		CUDA_OWNER(DRIVER,
			FUNCTION(PROGRAM_PATH,
				"rmm::mr::pool_memory_resource<rmm::mr::cuda_memory_resource>::"
				"expand_pool(unsigned long)"),
			NATIVE(PROGRAM_PATH)));
	/* Allocators that make single blocks have no arena: XLA's other allocators, and CuPy's. */
	assert_arena(GMT_ARENA_NO, "XLA",
		CUDA_OWNER(DRIVER,
			XLA("stream_executor::gpu::GpuCudaMallocAsyncAllocator::"
				"AllocateRaw(unsigned long, unsigned long)"),
			JAX_PY, SCRIPT));
	assert_arena(GMT_ARENA_NO, "CuPy",
		CUDA_OWNER(DRIVER, RUNTIME, CUPY("__pyx_f_4cupy_4cuda_6memory__malloc"), SCRIPT));
	assert_arena(GMT_ARENA_NO, "RMM",
		CUDA_OWNER(DRIVER,
			FUNCTION(PROGRAM_PATH, "rmm::mr::cuda_async_memory_resource::allocate(unsigned long)"),
			NATIVE(PROGRAM_PATH)));
}

static void without_a_function_name_an_arena_is_only_likely(void **state)
{
	(void)state;
	assert_arena(GMT_ARENA_LIKELY, "XLA", CUDA_OWNER(JAX_PY, SCRIPT));
	assert_arena(GMT_ARENA_LIKELY, "ONNX Runtime",
		CUDA_OWNER(DRIVER, RUNTIME,
			NATIVE(PACKAGES "onnxruntime/capi/libonnxruntime_providers_cuda.so"), SCRIPT));
	/* Memory that others request inside of the framework belongs to them and not to its arena. */
	assert_arena(GMT_ARENA_NO, "cuBLAS",
		CUDA_OWNER(DRIVER, RUNTIME, NATIVE(PACKAGES "nvidia/cublas/lib/libcublas.so.13"),
			NATIVE(PACKAGES "onnxruntime/capi/libonnxruntime_providers_cuda.so"), SCRIPT));
	assert_arena(GMT_ARENA_NO, "program",
		CUDA_OWNER(DRIVER, RUNTIME, SCRIPT,
			NATIVE(PACKAGES "onnxruntime/capi/libonnxruntime_providers_cuda.so"), SCRIPT));
	assert_arena(GMT_ARENA_NO, "Numba",
		CUDA_OWNER(PYTHON(PACKAGES "numba/cuda/cudadrv/driver.py"), JAX_PY, SCRIPT));
	/* PyTorch itself records the blocks that it hands out. */
	assert_arena(GMT_ARENA_NO, "PyTorch", CUDA_OWNER(DRIVER, RUNTIME, CACHE, TORCH, SCRIPT));
	assert_arena(GMT_ARENA_NO, "program", CUDA_OWNER(SCRIPT));
	/* A user's rule removes an arena, or makes one. */
	assert_arena(GMT_ARENA_NO, "mine",
		owner_by("own mine function *BFCAllocator::Extend*\n", GMT_LAYER_CUDA,
			STACK(DRIVER, FUNCTION(PROGRAM_PATH, "tsl::BFCAllocator::Extend(unsigned long)"))));
	assert_arena(GMT_ARENA_YES, "Engine",
		owner_by("arena Engine function engine::Arena::grow*\n", GMT_LAYER_CUDA,
			STACK(DRIVER, FUNCTION(PROGRAM_PATH, "engine::Arena::grow(unsigned long)"))));
}

static void an_empty_stack_has_no_owner_and_a_stack_of_skipped_frames_has_its_outermost(
	void **state)
{
	(void)state;
	assert_string_equal(owner_by("", GMT_LAYER_CUDA, NULL, 0), "unknown");
	/* The layer decides. */
	assert_string_equal(owner_by("", GMT_LAYER_TORCH, NULL, 0), "PyTorch");
	assert_string_equal(CUDA_OWNER(LIBC), "unknown");
	assert_string_equal(CUDA_OWNER(NATIVE("")), "unknown");
	assert_string_equal(CUDA_OWNER(DRIVER, RUNTIME, LIBC), "CUDA");
	assert_string_equal(CUDA_OWNER(DRIVER, RUNTIME, CACHE), "PyTorch");
	assert_string_equal(CUDA_OWNER(DRIVER, NATIVE("/usr/lib/x86_64-linux-gnu/libffi.so.8"),
							INTERPRETER, LIBC),
		"program");
}

static void user_rules_come_first_and_all_patterns_of_a_line_must_match(void **state)
{
	const char *rules = "# mine\n\n  own  \"The Engine\"  package engine\r\n"
						"skip - library libpool*\n"
						"lend Frame library libframe.so function frame::*\n"
						"own Loader file loaders/*.py function read_?\n";

	(void)state;
#define BY_RULES(layer, ...) owner_by(rules, layer, STACK(__VA_ARGS__))
	assert_string_equal(BY_RULES(GMT_LAYER_CUDA, NATIVE("/x/libpool.so.1"),
							PYTHON(PACKAGES "engine/a.py")),
		"The Engine");
	assert_string_equal(BY_RULES(GMT_LAYER_TORCH, TORCH, PYTHON(PACKAGES "engine/a.py")),
		"The Engine");
	assert_string_equal(BY_RULES(GMT_LAYER_CUDA, PYTHON(PACKAGES "engines/a.py")), "engines");
	assert_string_equal(BY_RULES(GMT_LAYER_CUDA,
							FUNCTION("/x/libframe.so", "frame::get<int>(long)")),
		"Frame");
	assert_string_equal(BY_RULES(GMT_LAYER_CUDA, FUNCTION("/x/libframe.so", "other::frame::get()")),
		"libframe.so");
	assert_string_equal(BY_RULES(GMT_LAYER_CUDA,
							{ .file = "/home/me/loaders/b.py", .function = "read_x" }),
		"Loader");
	assert_string_equal(BY_RULES(GMT_LAYER_CUDA,
							{ .file = "/home/me/loaders/b.py", .function = "read_xy" }),
		"program");
	assert_string_equal(BY_RULES(GMT_LAYER_CUDA,
							{ .file = "/home/me/myloaders/b.py", .function = "read_x" }),
		"program");
	/* A user's rule can replace a built-in rule. */
	assert_string_equal(owner_by("own torchrun library libtorch_cuda.so\n", GMT_LAYER_CUDA,
							STACK(CACHE, TORCH)),
		"torchrun");
#undef BY_RULES
}

/*
 * Returns the owner by one set of rules. The cache remembers the possible rules of each module or
 * file.
 */
static const char *own_names(struct gmt_owner_rule_cache *rule_cache,
	const struct gmt_owner_rules *rules, const struct frame *frame)
{
	const struct gmt_owner_rule *rule;
	struct gmt_owner_frame requested = {
		.is_python = frame->file != NULL,
		.function = frame->function,
		.file = frame->file ? frame->file : "",
		.module = frame->module ? frame->module : "",
	};

	assert_true(gmt_owner_rules_find(rules, rule_cache, &requested, &rule));
	return rule ? rule->name : "";
}

static void functions_of_one_module_or_file_get_their_own_owners(void **state)
{
	static const char text[] = "own whole function alloc\nown middle function *aa*b?b*\n"
							   "own end function ?*::take\nown tail function *::give\n"
							   "own python library /x/y\nown script file /x/y function run*\n"
							   "own rest file y\n";
	static const struct {
		struct frame frame;
		const char *name;
	} cases[] = {
		{ FUNCTION("/x/z", "alloc"), "whole" },
		{ FUNCTION("/x/z", "alloc<int>::take"), "whole" },
		{ FUNCTION("/x/z", "alloc(a)"), "whole" },
		{ FUNCTION("/x/z", "alloca"), "" },
		{ FUNCTION("/x/z", "all"), "" },
		{ FUNCTION("/x/z", "aaaabb"), "" },
		{ FUNCTION("/x/z", "aabbabab"), "middle" },
		{ FUNCTION("/x/z", "xaaabybx"), "middle" },
		{ FUNCTION("/x/z", "aabbxb"), "middle" },
		{ FUNCTION("/x/z", "a::give"), "tail" },
		{ FUNCTION("/x/z", "a::give(b<c>)"), "tail" },
		{ FUNCTION("/x/z", "a::take"), "end" },
		{ FUNCTION("/x/z", "a<b>::take(c<d>)::e"), "end" },
		{ FUNCTION("/x/z", "::take"), "" },
		{ FUNCTION("/x/z", "a::takes"), "" },
		{ FUNCTION("/x/y", "alloc"), "whole" },
		{ FUNCTION("/x/y", "run"), "python" },
		{ { .file = "/x/y", .function = "run" }, "script" },
		{ { .file = "/x/y", .function = "alloc" }, "rest" },
		{ { .file = "/x/yy", .function = "run" }, "" },
	};
	struct gmt_owner_rules rules = { 0 };
	struct gmt_owner_rule_cache rule_cache = { 0 };
	struct gmt_error error = { 0 };

	(void)state;
	assert_int_equal(gmt_owner_rules_parse(&rules, text, "mine", &error), GMT_OK);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
			assert_string_equal(own_names(&rule_cache, &rules, &cases[i].frame), cases[i].name);
	gmt_owner_rule_cache_fini(&rule_cache);
	gmt_owner_rules_fini(&rules);
}

static void invalid_rules_are_reported_with_their_line(void **state)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{ "own cuBLAS library libcublas*\nowns x library y\n",
			"mine:2: an action is skip, own, lend or arena, not `owns`: " },
		{ "own\n", "mine:1: an owner is missing: " },
		{ "\n\nown cuBLAS", "mine:3: a pattern is missing: " },
		{ "own cuBLAS library", "mine:1: a pattern is missing: " },
		{ "own cuBLAS library \"\"", "mine:1: a pattern is missing: " },
		{ "own cuBLAS libary x",
			"mine:1: a kind is library, function, file or package, not `libary`: " },
		{ "own cuBLAS library x library y", "mine:1: two patterns of the same kind `library`: " },
		{ "own \"cu BLAS library x", "mine:1: the quotes do not close: " },
		{ "own x library \"y", "mine:1: the quotes do not close: " },
		{ "own - library x", "mine:1: the owner `-` is valid only for skip and arena: " },
		{ "own x library y file z",
			"mine:1: library and file exclude each other: a frame is native or Python: " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gmt_owner_rules rules = { 0 };
		struct gmt_error error = { 0 };

		assert_int_equal(gmt_owner_rules_parse(&rules, cases[i].text, "mine", &error), GMT_USAGE);
		assert_non_null(strstr(error.text, cases[i].said));
		assert_ptr_equal(strstr(error.text, cases[i].said), error.text);
		assert_null(strchr(error.text, '\n'));
		gmt_owner_rules_fini(&rules);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, path_setup, path_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_owner_is_the_first_frame_outside_allocators_and_the_runtime),
		TEST(libraries_are_recognized_by_the_file_names_of_wheels_and_copies),
		TEST(a_statically_linked_library_is_recognized_by_its_functions),
		TEST(the_library_that_asked_pytorch_for_a_block_owns_it),
		TEST(python_stacks_alone_have_owners),
		TEST(an_arena_is_recognized_by_the_function_that_allocates_its_memory),
		TEST(without_a_function_name_an_arena_is_only_likely),
		TEST(an_empty_stack_has_no_owner_and_a_stack_of_skipped_frames_has_its_outermost),
		TEST(user_rules_come_first_and_all_patterns_of_a_line_must_match),
		TEST(functions_of_one_module_or_file_get_their_own_owners),
		TEST(invalid_rules_are_reported_with_their_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
