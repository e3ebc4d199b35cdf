/* SPDX-License-Identifier: MIT */
#include "testing.h"

/*
 * Graphs that allocate and free: when their memory is live, who may free it, and what stays
 * reserved.
 */

struct node {
	CUgraphNode node;
	CUdeviceptr address;
};

static struct node add_allocation(CUgraph graph, size_t size)
{
	CUDA_MEM_ALLOC_NODE_PARAMS parameters = {
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } },
		.bytesize = size,
	};
	struct node node;

	assert_success(cuGraphAddMemAllocNode(&node.node, graph, NULL, 0, &parameters));
	node.address = parameters.dptr;
	return node;
}

static CUresult add_free(CUgraph graph, const struct node *after, CUdeviceptr address)
{
	CUgraphNode node;

	return cuGraphAddMemFreeNode(&node, graph, after ? &after->node : NULL, after != NULL, address);
}

static CUgraph new_graph(void)
{
	CUgraph graph;

	assert_success(cuGraphCreate(&graph, 0));
	return graph;
}

static CUgraphExec instantiate(CUgraph graph, unsigned long long flags)
{
	CUgraphExec exec;

	assert_success(cuGraphInstantiateWithFlags(&exec, graph, flags));
	return exec;
}

static void destroy(CUgraph graph, CUgraphExec exec)
{
	assert_success(cuGraphExecDestroy(exec));
	assert_success(cuGraphDestroy(graph));
}

static size_t attribute(CUgraphMem_attribute which)
{
	cuuint64_t value;

	assert_success(cuDeviceGetGraphMemAttribute(0, which, &value));
	return value;
}

static void expect_graph_memory(size_t used, size_t reserved)
{
	assert_int_equal(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), used);
	assert_int_equal(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), reserved);
	assert_int_equal(used_bytes(), reserved);
}

static int leave_nothing(void **state)
{
	return cuDeviceGraphMemTrim(0) == CUDA_SUCCESS && used_bytes() == 0 ? destroy_context(state)
																		: -1;
}

static void memory_is_allocated_at_launch_and_stays_until_a_trim(void **state)
{
	CUgraph graph = new_graph();
	struct node first = add_allocation(graph, 3 * MIB), second = add_allocation(graph, MIB);

	(void)state;
	assert_success(add_free(graph, &first, first.address));
	expect_graph_memory(0, 0);
	CUgraphExec exec = instantiate(graph, 0);
	expect_graph_memory(0, 0);
	assert_success(cuGraphLaunch(exec, NULL));
	expect_graph_memory(MIB, 4 * MIB);
	assert_int_equal(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 4 * MIB);
	assert_success(cuDeviceGraphMemTrim(0));
	expect_graph_memory(MIB, 2 * MIB);
	assert_success(cuMemFree_v2(second.address));
	expect_graph_memory(0, 2 * MIB);
	assert_success(cuDeviceGraphMemTrim(0));
	expect_graph_memory(0, 0);
	assert_int_equal(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 4 * MIB);
	cuuint64_t zero = 0;
	assert_success(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &zero));
	assert_int_equal(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 0);
	assert_int_equal(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &zero),
		CUDA_ERROR_INVALID_VALUE);
	destroy(graph, exec);
}

static void an_upload_allocates_the_memory_before_the_launch(void **state)
{
	CUgraph graph = new_graph();
	struct node node = add_allocation(graph, 5 * MIB);

	(void)state;
	CUgraphExec exec = instantiate(graph, 0);
	assert_success(cuGraphUpload(exec, NULL));
	expect_graph_memory(0, 6 * MIB);
	assert_success(cuGraphLaunch(exec, NULL));
	expect_graph_memory(5 * MIB, 6 * MIB);
	assert_success(cuMemFree_v2(node.address));
	destroy(graph, exec);

	graph = new_graph();
	add_allocation(graph, 7 * MIB);
	CUDA_GRAPH_INSTANTIATE_PARAMS parameters = { .flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD };
	assert_success(cuGraphInstantiateWithParams(&exec, graph, &parameters));
	assert_int_equal(parameters.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
	expect_graph_memory(0, 8 * MIB);
	destroy(graph, exec);
}

static void graphs_use_the_same_memory_one_after_the_other(void **state)
{
	CUgraph graphs[2] = { new_graph(), new_graph() };
	CUgraphExec execs[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct node node = add_allocation(graphs[i], 8 * MIB);
		assert_success(add_free(graphs[i], &node, node.address));
		execs[i] = instantiate(graphs[i], 0);
		assert_success(cuGraphLaunch(execs[i], NULL));
		expect_graph_memory(0, 8 * MIB);
	}
	for (int i = 0; i < 2; i++)
		destroy(graphs[i], execs[i]);
	expect_graph_memory(0, 8 * MIB);
}

static void a_launch_is_refused_while_its_memory_is_live(void **state)
{
	CUgraph graph = new_graph();
	struct node node = add_allocation(graph, MIB);

	(void)state;
	CUgraphExec exec = instantiate(graph, 0);
	assert_success(cuGraphLaunch(exec, NULL));
	assert_int_equal(cuGraphLaunch(exec, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuMemFreeAsync(node.address, NULL));
	assert_success(cuGraphLaunch(exec, NULL));
	assert_success(cuMemFree_v2(node.address));
	assert_int_equal(cuMemFree_v2(node.address), CUDA_ERROR_INVALID_VALUE);
	destroy(graph, exec);
}

static void auto_free_frees_the_memory_of_the_last_launch(void **state)
{
	CUgraph graph = new_graph();
	struct node node = add_allocation(graph, 2 * MIB);

	(void)state;
	CUgraphExec exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
	for (int i = 0; i < 3; i++) {
		assert_success(cuGraphLaunch(exec, NULL));
		expect_graph_memory(2 * MIB, 2 * MIB);
	}
	assert_success(cuMemFree_v2(node.address));
	destroy(graph, exec);
}

static void memory_outlives_its_graph(void **state)
{
	CUgraph graph = new_graph();
	struct node node = add_allocation(graph, MIB);
	CUdeviceptr base;

	(void)state;
	CUgraphExec exec = instantiate(graph, 0);
	assert_success(cuGraphLaunch(exec, NULL));
	destroy(graph, exec);
	expect_graph_memory(MIB, 2 * MIB);
	assert_success(cuMemsetD8_v2(node.address, 1, MIB));
	assert_success(cuMemGetAddressRange_v2(&base, NULL, node.address + 5));
	assert_int_equal(base, node.address);
	assert_success(cuMemFree_v2(node.address));
	expect_graph_memory(0, 2 * MIB);
}

static void one_graph_can_free_the_memory_of_another(void **state)
{
	CUgraph one = new_graph(), other = new_graph();
	struct node node = add_allocation(one, MIB);

	(void)state;
	assert_success(add_free(other, NULL, node.address));
	/* Either the graph that allocates the memory frees it, or another graph does. */
	assert_int_equal(add_free(one, &node, node.address), CUDA_ERROR_INVALID_VALUE);
	CUgraphExec allocating = instantiate(one, 0), freeing = instantiate(other, 0);
	assert_int_equal(cuGraphLaunch(freeing, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuGraphLaunch(allocating, NULL));
	expect_graph_memory(MIB, 2 * MIB);
	assert_success(cuGraphLaunch(freeing, NULL));
	expect_graph_memory(0, 2 * MIB);
	destroy(other, freeing);
	destroy(one, allocating);
}

static void a_free_node_frees_an_allocation_node_once(void **state)
{
	CUgraph graph = new_graph(), other = new_graph();
	struct node node = add_allocation(graph, MIB);
	CUdeviceptr linear;
	size_t count = 0;

	(void)state;
	assert_success(cuMemAlloc_v2(&linear, MIB));
	assert_int_equal(add_free(graph, NULL, linear), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(add_free(graph, &node, node.address + 512), CUDA_ERROR_INVALID_VALUE);
	assert_success(add_free(graph, &node, node.address));
	assert_int_equal(add_free(graph, &node, node.address), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(add_free(other, NULL, node.address), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuGraphGetNodes(graph, NULL, &count));
	assert_int_equal(count, 2);
	assert_success(cuMemFree_v2(linear));
	assert_success(cuGraphDestroy(graph));
	assert_success(cuGraphDestroy(other));
}

static void a_graph_with_memory_cannot_be_copied(void **state)
{
	CUgraph graph = new_graph(), parent = new_graph(), clone;
	struct node node = add_allocation(graph, MIB);
	CUgraphNode child;
	CUgraphExec second;

	(void)state;
	assert_success(add_free(graph, &node, node.address));
	assert_int_equal(cuGraphClone(&clone, graph), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuGraphDestroyNode(node.node), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuGraphAddChildGraphNode(&child, parent, NULL, 0, graph),
		CUDA_ERROR_NOT_SUPPORTED);
	CUgraphExec exec = instantiate(graph, 0);
	assert_int_equal(cuGraphInstantiateWithFlags(&second, graph, 0), CUDA_ERROR_INVALID_VALUE);
	assert_success(cuGraphExecDestroy(exec));
	destroy(graph, instantiate(graph, 0));
	assert_success(cuGraphDestroy(parent));
}

static void a_child_that_was_moved_allocates_in_its_parent(void **state)
{
	CUgraph child = new_graph(), parent = new_graph(), inside;
	struct node node = add_allocation(child, 4 * MIB);
	CUgraphNodeParams parameters = {
		.type = CU_GRAPH_NODE_TYPE_GRAPH,
		.graph = { .graph = child, .ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE },
	};
	CUgraphNode holder;

	(void)state;
	assert_success(cuGraphAddNode_v2(&holder, parent, NULL, NULL, 0, &parameters));
	assert_success(cuGraphChildGraphNodeGetGraph(holder, &inside));
	assert_ptr_equal(inside, child);
	assert_int_equal(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(add_free(inside, &node, node.address), CUDA_ERROR_NOT_SUPPORTED);
	CUgraphExec exec = instantiate(parent, 0);
	assert_success(cuGraphLaunch(exec, NULL));
	expect_graph_memory(4 * MIB, 4 * MIB);
	assert_success(cuMemFree_v2(node.address));
	destroy(parent, exec);
}

static void an_update_keeps_the_memory_of_the_graph(void **state)
{
	CUgraph graph = new_graph(), other = new_graph();
	CUgraphExecUpdateResultInfo info;
	struct node node = add_allocation(graph, MIB);

	(void)state;
	add_allocation(other, MIB);
	CUgraphExec exec = instantiate(graph, 0);
	assert_success(cuGraphExecUpdate_v2(exec, graph, &info));
	assert_int_equal(cuGraphExecUpdate_v2(exec, other, &info),
		CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
	assert_success(cuGraphLaunch(exec, NULL));
	assert_success(cuMemFree_v2(node.address));
	destroy(graph, exec);
	assert_success(cuGraphDestroy(other));
}

static void a_launch_that_does_not_fit_does_nothing(void **state)
{
	CUgraph graph = new_graph();
	struct node small = add_allocation(graph, MIB), large = add_allocation(graph, CAPACITY_BYTES);

	(void)state;
	CUgraphExec exec = instantiate(graph, 0);
	assert_int_equal(cuGraphUpload(exec, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuGraphLaunch(exec, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	expect_graph_memory(0, 0);
	assert_int_equal(cuMemFree_v2(small.address), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFree_v2(large.address), CUDA_ERROR_INVALID_VALUE);
	destroy(graph, exec);
}

static void generic_nodes_allocate_and_free(void **state)
{
	CUgraph graph = new_graph();
	CUgraphNodeParams allocation = {
		.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC,
		.alloc = { .poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 } },
			.bytesize = 3000 },
	};
	CUgraphNodeParams freeing = { .type = CU_GRAPH_NODE_TYPE_MEM_FREE };
	CUgraphNode nodes[2];
	CUdeviceptr freed;

	(void)state;
	assert_success(cuGraphAddNode(&nodes[0], graph, NULL, 0, &allocation));
	freeing.free.dptr = allocation.alloc.dptr;
	assert_success(cuGraphAddNode_v2(&nodes[1], graph, &nodes[0], NULL, 1, &freeing));
	assert_success(cuGraphMemFreeNodeGetParams(nodes[1], &freed));
	assert_int_equal(freed, allocation.alloc.dptr);
	CUgraphExec exec = instantiate(graph, 0);
	assert_success(cuGraphLaunch(exec, NULL));
	assert_int_equal(attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
	destroy(graph, exec);
}

#define GRAPH_TEST(name) cmocka_unit_test_setup_teardown(name, make_context, leave_nothing)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GRAPH_TEST(memory_is_allocated_at_launch_and_stays_until_a_trim),
		GRAPH_TEST(an_upload_allocates_the_memory_before_the_launch),
		GRAPH_TEST(graphs_use_the_same_memory_one_after_the_other),
		GRAPH_TEST(a_launch_is_refused_while_its_memory_is_live),
		GRAPH_TEST(auto_free_frees_the_memory_of_the_last_launch),
		GRAPH_TEST(memory_outlives_its_graph),
		GRAPH_TEST(one_graph_can_free_the_memory_of_another),
		GRAPH_TEST(a_free_node_frees_an_allocation_node_once),
		GRAPH_TEST(a_graph_with_memory_cannot_be_copied),
		GRAPH_TEST(a_child_that_was_moved_allocates_in_its_parent),
		GRAPH_TEST(an_update_keeps_the_memory_of_the_graph),
		GRAPH_TEST(a_launch_that_does_not_fit_does_nothing),
		GRAPH_TEST(generic_nodes_allocate_and_free),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
