# SPDX-License-Identifier: MIT
"""Computes live blocks event by event, slowly and simply, from docs/internals/recording-format/events.md alone."""

import typing

HOST, UNKNOWN = -1, -2
LAYERS = {1: "cuda", 2: "torch", 3: "driver", 4: "imported", 5: "view", 6: "custom"}
CUDA, TORCH, DRIVER, IMPORTED, VIEW, CUSTOM = LAYERS
# Kinds of events.
(
    ALLOC,
    FREE,
    ALLOC_FAILED,
    FREE_FAILED,
    CREATE,
    DESTROY,
    RETAIN,
    MAP,
    UNMAP,
    BIND,
    BIND_ADDRESS,
    UNBIND,
    NODE_ALLOC,
    NODE_FREE,
    LAUNCH,
    EXPORT,
    TRIM,
    SET,
) = range(1, 19)


class Space(typing.NamedTuple):
    """A row of the document's table of spaces. The document calls the last three columns side, realm and life."""

    name: str
    location: str  # "device" or "host"
    address_kind: str  # what the number in an event's `address` is: an address, a handle, an array ...
    ended_by: str  # "context": also the end of its context. "process": only a free. "counted": its last reference


SPACES = {
    1: Space("device", "device", "address", "context"),
    2: Space("managed", "device", "address", "context"),
    3: Space("pool", "device", "address", "process"),
    4: Space("pinned", "host", "address", "context"),
    5: Space("registered", "host", "address", "context"),
    6: Space("array", "device", "array", "context"),
    7: Space("vmm", "device", "handle", "process"),
    8: Space("vmm_host", "host", "handle", "process"),
    9: Space("graph", "device", "address", "process"),
    10: Space("ipc", "device", "address", "counted"),
    11: Space("vmm_imported", "device", "handle", "process"),
    12: Space("external", "device", "external", "context"),
    13: Space("external_view", "device", "address", "context"),
    14: Space("external_array", "device", "array", "context"),
    15: Space("graphics", "device", "graphics", "context"),
    16: Space("multicast", "device", "handle", "process"),
    17: Space("context", "device", "context", "process"),
    18: Space("module", "device", "module", "context"),
    19: Space("limit", "device", "limit", "context"),
    20: Space("reservation", "device", "address", "process"),
}
DEVICE, POOL, GRAPH, IPC, VMM_IMPORTED, MULTICAST, CONTEXT, MODULE, LIMIT, RESERVATION = (
    1,
    3,
    9,
    10,
    11,
    16,
    17,
    18,
    19,
    20,
)


def space_of(number):
    """Returns the space of this number. Numbers without a row, such as custom heaps, are treated as device memory."""
    return SPACES.get(number) or Space(f"space-{number}", "device", "address", "process")


def is_physical(event):
    """Returns whether the event is about physical memory, which has a handle and may be mapped."""
    return event["layer"] not in (TORCH, CUSTOM) and space_of(event["space"]).address_kind == "handle"


class Block:
    def __init__(self, event, layer, space, device, address, size):
        kind = space_of(space)
        self.layer, self.space, self.name, self.address, self.size = layer, space, kind.name, address, size
        self.ended_by = kind.ended_by
        self.device = HOST if kind.location == "host" else device
        self.stacks = event["stack"], event["frames"]
        self.references, self.context = 1, 0
        self.mappings = 0  # of physical memory


class Live:
    """Keeps the live blocks. Calls `began(block)` and `ended(block)`, which a test may set, for each block."""

    def __init__(self):
        self.blocks = {}  # key(): Block, except physical memory
        self.memory = []  # live physical memory
        self.handles = {}  # handle: Block
        self.mapped = {}  # address: (size, physical Block)
        self.bound = {}  # (multicast Block, device, offset): (size, physical Block)
        self.graphs = {}  # executable graph: [frees at launch, [nodes]]
        self.made_nodes = {}  # address: stacks of the call that made the node
        self.reserved, self.pools = {}, set()
        self.unknown_frees = self.missed_frees = 0
        self.began = self.ended = lambda block: None

    def all(self):
        return [*self.blocks.values(), *self.memory]

    # --- blocks with addresses, or handles of other kinds

    @staticmethod
    def key(layer, space, address):
        """Returns what identifies a block. Equal numbers of two kinds are two blocks. CUDA's layers share addresses."""
        if layer in (TORCH, CUSTOM):
            return layer, "address", address
        return CUDA, space_of(space).address_kind, address

    def begin(self, block, context=0, pool=0):
        key = self.key(block.layer, block.space, block.address)
        older = self.blocks.get(key)
        if older and block.ended_by == "counted" and (older.space, older.device) == (block.space, block.device):
            older.references += 1
            return
        if older:
            self.missed_frees += 1
            self.end(key)
        if block.ended_by == "context" or block.ended_by == "counted" and not pool:
            block.context = context
        self.blocks[key] = block
        self.began(block)

    def end(self, key):
        block = self.blocks.pop(key)
        self.ended(block)

    def free(self, layer, space, address):
        key = self.key(layer, space, address)
        block = self.blocks.get(key)
        if not block:
            # A library may be unloaded after its context, which has already freed its memory.
            self.unknown_frees += address != 0 and space != MODULE
        elif block.references > 1:
            block.references -= 1
        else:
            self.end(key)

    # --- physical memory

    def end_if_unused(self, block):
        if block.references or block.mappings:
            return
        if self.handles.get(block.address) is block:
            del self.handles[block.address]
        self.memory.remove(block)
        self.ended(block)
        for key in [key for key in self.bound if key[0] is block]:
            self.release(self.bound.pop(key)[1])

    def release(self, block):
        block.mappings -= 1
        self.end_if_unused(block)

    def mapped_at(self, address):
        for start, (size, block) in self.mapped.items():
            if start <= address < start + size:
                return block
        return None

    def alloc_handle(self, event):
        known = self.handles.get(event["address"])
        if event["space"] == VMM_IMPORTED and known:
            known.references += 1
            return
        block = self.block_of(event)
        self.handles[event["address"]] = block
        self.memory.append(block)
        self.began(block)

    def map(self, event):
        block = self.handles.get(event["object"])
        if not block:
            self.unknown_frees += 1
            return
        if block.space == VMM_IMPORTED and event["size_bytes"] > block.size:
            self.ended(block)
            block.size = event["size_bytes"]
            block.stacks = event["stack"], event["frames"]
            self.began(block)
        block.mappings += 1
        self.mapped[event["address"]] = event["size_bytes"], block

    def unmap(self, event):
        end = event["address"] + event["size_bytes"]
        for start in [start for start in self.mapped if event["address"] <= start < end]:
            self.release(self.mapped.pop(start)[1])

    def bind(self, event):
        multicast = self.handles.get(event["address"])
        block = self.handles.get(event["object"]) if event["kind"] == BIND else self.mapped_at(event["object"])
        if multicast and block:
            device = event["device"] if event["device"] >= 0 else block.device
            self.bound[multicast, device, event["stream"]] = event["size_bytes"], block
            block.mappings += 1

    def unbind(self, event):
        multicast, end = self.handles.get(event["address"]), event["stream"] + event["size_bytes"]
        for key in [
            key
            for key in self.bound
            if key[0] is multicast and key[1] == event["device"] and event["stream"] <= key[2] < end
        ]:
            self.release(self.bound.pop(key)[1])

    # --- graphs

    def add_node(self, event):
        if not event["object"]:
            if event["kind"] == NODE_ALLOC:
                self.made_nodes[event["address"]] = event["stack"], event["frames"]
        elif event["object"] in self.graphs:
            self.graphs[event["object"]][1].append(event)

    def launch(self, event):
        if event["address"] not in self.graphs:
            return
        frees_at_launch, nodes = self.graphs[event["address"]]
        allocs = {node["address"]: node for node in nodes if node["kind"] == NODE_ALLOC}
        frees = [node["address"] for node in nodes if node["kind"] == NODE_FREE]
        for address in frees:
            if address not in allocs:
                self.free(CUDA, GRAPH, address)
        for address in allocs:
            if frees_at_launch and self.key(CUDA, GRAPH, address) in self.blocks:
                self.free(CUDA, GRAPH, address)
        for address, node in allocs.items():
            if address not in frees:
                block = Block(node, CUDA, GRAPH, node["device"], address, node["size_bytes"])
                block.stacks = self.made_nodes.get(address, block.stacks)
                self.begin(block)

    # --- contexts

    def end_context(self, context):
        for key in [key for key, block in self.blocks.items() if context and block.context == context]:
            self.end(key)

    def set_limit(self, event):
        block = self.block_of(event)
        block.address = event["context"], event["address"]
        older = self.blocks.get(self.key(block.layer, LIMIT, block.address))
        if older:
            block.size += older.size
            self.free(block.layer, LIMIT, block.address)
        self.begin(block, event["context"])

    # --- events

    @staticmethod
    def block_of(event):
        return Block(event, event["layer"], event["space"], event["device"], event["address"], event["size_bytes"])

    def alloc(self, event):
        if is_physical(event):
            self.alloc_handle(event)
        else:
            self.begin(self.block_of(event), event["context"], event["object"])

    def free_event(self, event):
        if is_physical(event):
            block = self.handles.get(event["address"])
            if block:
                block.references -= 1
                self.end_if_unused(block)
            else:
                self.unknown_frees += 1
            return
        self.free(event["layer"], event["space"], event["address"])
        if event["layer"] == DRIVER and event["space"] == CONTEXT:
            self.end_context(event["context"])

    def retain(self, event):
        block = self.handles.get(event["address"]) or self.mapped_at(event["object"])
        if block:
            block.references += 1
            block.address = event["address"]
            self.handles[event["address"]] = block
        else:
            self.unknown_frees += 1

    def create(self, event):
        if event["space"] == GRAPH:
            self.graphs[event["address"]] = [bool(event["object"] & 1), []]
        elif event["space"] == POOL:
            self.pools.add(event["address"])
        elif event["space"] == RESERVATION:
            self.reserved[event["address"]] = event["size_bytes"]

    def destroy(self, event):
        if event["space"] == POOL:
            self.pools.discard(event["address"])
        elif event["space"] == RESERVATION:
            self.reserved.pop(event["address"], None)

    def apply(self, event):
        actions = {
            ALLOC: self.alloc,
            FREE: self.free_event,
            CREATE: self.create,
            DESTROY: self.destroy,
            RETAIN: self.retain,
            MAP: self.map,
            UNMAP: self.unmap,
            BIND: self.bind,
            BIND_ADDRESS: self.bind,
            UNBIND: self.unbind,
            NODE_ALLOC: self.add_node,
            NODE_FREE: self.add_node,
            LAUNCH: self.launch,
        }
        if event["kind"] in actions:
            actions[event["kind"]](event)
        elif event["kind"] == SET and event["space"] == LIMIT:
            self.set_limit(event)
