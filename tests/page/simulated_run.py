# SPDX-License-Identifier: MIT
"""A small simulated training run: the events of PyTorch's blocks and segments. Equal arguments give equal runs.

The run leaks (it keeps the loss of each step, and an activation of every second step). It has a second phase with
larger batches. At its end, a request is refused for lack of memory.
"""

import dataclasses

MIB = 1 << 20
GRANULE = 512


@dataclasses.dataclass(frozen=True)
class Frame:
    function: str
    file: str = ""
    line: int = 0
    module: str = ""
    python: bool = True
    own: bool = False


@dataclasses.dataclass(frozen=True)
class Site:
    layer: str
    device: int
    space: str
    category: str
    owner: str
    module: str
    operator: str
    part: str
    stack: tuple  # of Frame, outermost first
    own: int  # index in stack


@dataclasses.dataclass
class Block:
    site: int
    layer: str
    device: int
    bytes: int
    address: int
    begin_ns: int
    phase: str = ""
    end_ns: int = -1
    begin_event: int = 0
    step: int = -1


@dataclasses.dataclass
class Event:
    time_ns: int
    block: Block
    allocates: bool


def native(function, library="libtorch_cuda.so"):
    return Frame(function, module=f"/opt/torch/lib/{library}", python=False)


def own(function, line):
    return Frame(function, "/home/user/project/train.py", line, own=True)


def torch(function, file, line):
    return Frame(function, f"/opt/python/site-packages/torch/{file}", line)


MAIN = (own("<module>", 142), own("main", 118))


class Segment:
    """A segment of PyTorch's allocator: live blocks by their offset."""

    def __init__(self, block):
        self.block = block
        self.used = []  # (offset, bytes), sorted

    def find_hole(self, size):
        at = 0
        for offset, used in self.used:
            if offset - at >= size:
                return at
            at = offset + used
        return at if self.block.bytes - at >= size else None


class Run:
    def __init__(self, device=0, seed=1, scale=1.0, capacity=8 << 30):
        self.device, self.scale, self.capacity = device, scale, capacity
        self.seed = seed
        self.now = 0
        self.sites, self.site_numbers = [None], {}
        self.events, self.blocks = [], []
        self.segments = []
        self.next_address = 0x7F00_0000_0000
        self.steps, self.phases, self.refusals, self.samples = [], [], [], []
        self.phase, self.step, self.reserved = "", -1, 0

    def random(self, bound):
        self.seed = (self.seed * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (self.seed >> 33) % bound

    def pause(self, microseconds):
        self.now += (microseconds * 600 + self.random(microseconds * 800)) or 1

    def site(self, **fields):
        site = Site(device=self.device, space=fields.pop("space", "device"), **fields)
        if site not in self.site_numbers:
            self.site_numbers[site] = len(self.sites)
            self.sites.append(site)
        return self.site_numbers[site]

    def add(self, block, allocates):
        self.now += 200 + self.random(900)
        if allocates:
            block.begin_ns, block.begin_event = self.now, len(self.events)
            self.blocks.append(block)
        else:
            block.end_ns = self.now
        self.events.append(Event(self.now, block, allocates))

    def new_segment(self, size, fields):
        length = 2 * MIB if size < MIB else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        if self.reserved + length > self.capacity:
            return None
        stack = (*fields["stack"], native("c10::cuda::CUDACachingAllocator::alloc_block", "libc10_cuda.so"))
        number = self.site(
            layer="cuda", category="other", owner="PyTorch", module="", operator="", part=fields["part"],
            stack=stack, own=fields["own"],
        )  # fmt: skip
        block = Block(number, "cuda", self.device, length, self.next_address, 0, self.phase, step=self.step)
        self.next_address += length + 2 * MIB
        self.reserved += length
        self.add(block, True)
        self.segments.append(Segment(block))
        self.samples.append((self.now, self.reserved + 380 * MIB))
        return self.segments[-1]

    def alloc(self, size, category, stack, own_at, operator="", module="", part="other"):
        size = max(GRANULE, -(-int(size * self.scale) // GRANULE) * GRANULE)
        stack = (*stack, native(f"at::_ops::{operator or 'empty'}::call"), native("at::detail::empty_generic"))
        fields = {"stack": stack, "own": own_at, "part": part}
        small = size < MIB
        best = None
        for segment in self.segments:
            if small != (segment.block.bytes == 2 * MIB):
                continue
            at = segment.find_hole(size)
            if at is not None and (best is None or segment.block.bytes < best[0].block.bytes):
                best = (segment, at)
        if best is None:
            segment = self.new_segment(size, fields)
            if segment is None:
                number = self.site(
                    layer="torch", category=category, owner="PyTorch", module=module, operator=operator, part=part,
                    stack=stack, own=own_at,
                )  # fmt: skip
                self.refusals.append((self.now, size, number))
                return None
            best = (segment, 0)
        segment, at = best
        number = self.site(
            layer="torch", category=category, owner="PyTorch", module=module, operator=operator, part=part,
            stack=stack, own=own_at,
        )  # fmt: skip
        block = Block(number, "torch", self.device, size, segment.block.address + at, 0, self.phase, step=self.step)
        segment.used.append((at, size))
        segment.used.sort()
        self.add(block, True)
        block.segment = segment
        block.offset = at
        return block

    def free(self, block):
        block.segment.used.remove((block.offset, block.bytes))
        self.add(block, False)


PARTS = [("attention.qkv", 3, 31), ("attention.out", 1, 34), ("mlp.up", 4, 41), ("mlp.down", 4, 43)]


def simulate(steps=40, layers=8, device=0, seed=1, scale=1.0, capacity=1700 * MIB, oom=True):
    run = Run(device, seed, scale, capacity)
    width = 1 * MIB
    begin = run.now
    run.pause(900_000)
    parameters = []
    to = (*MAIN, own("build_model", 88), torch("Module.to", "nn/modules/module.py", 1374))
    for layer in range(layers):
        for name, weight, _ in PARTS:
            where = f"model.layers.{layer}.{name}"
            parameters.append((run.alloc(weight * width, "parameters", to, 2, "to", where), where, weight))
        run.pause(3000)
    parameters.append((run.alloc(16 * MIB, "parameters", to, 2, "to", "model.embedding"), "model.embedding", 16))
    run.phases.append(("load", begin, run.now, 0))
    run.pause(200_000)
    gradients, states, losses, kept = [], [], [], []
    training = run.now
    for step in range(steps):
        run.step = step
        run.phase = "warm-up" if step < 8 else "train"
        begin = run.now
        batch = 1.0 if step < 8 else 1.5
        data = run.alloc(batch * 2 * MIB, "inputs", (*MAIN, own("load_batch", 97)), 2, "copy_")
        run.pause(2500)
        saved = []
        forward = (*MAIN, own("training_step", 104), torch("Module._call_impl", "nn/modules/module.py", 1790))
        for layer in range(layers):
            for name, weight, line in PARTS:
                where = f"model.layers.{layer}.{name}"
                stack = (*forward, own("Block.forward", line), torch("Linear.forward", "nn/modules/linear.py", 134))
                saved.append(run.alloc(batch * weight * 4 * MIB, "activations", stack, 4, "addmm", where, "forward"))
                scratch = run.alloc(0.25 * MIB, "workspace", stack, 4, "addmm", where, "forward")
                run.pause(900)
                run.free(scratch)
        head = (*forward, own("Model.forward", 62))
        logits = run.alloc(batch * 48 * MIB, "activations", head, 4, "mm", "model.head", "forward")
        loss = run.alloc(4, "activations", (*MAIN, own("training_step", 105)), 2, "nll_loss_forward", "", "forward")
        losses.append(loss)
        if step % 2 == 0:
            kept.append(run.alloc(4 * MIB, "activations", (*MAIN, own("log_metrics", 76)), 2, "clone", "", "forward"))
        run.pause(4000)
        backward = (*MAIN, own("training_step", 107), torch("backward", "autograd/__init__.py", 388))
        big = run.alloc(batch * 96 * MIB, "temporaries", backward, 2, "_log_softmax_backward_data", "", "backward")
        run.pause(2000)
        run.free(logits)
        for at, block in enumerate(reversed(saved)):
            number = len(saved) - 1 - at
            where, weight = parameters[number][1:]
            grad = run.alloc(weight * MIB * batch * 2, "temporaries", backward, 2, "mm", where, "backward")
            if step == 0:
                gradients.append(run.alloc(weight * MIB, "gradients", backward, 2, "mm", where, "backward"))
            run.pause(700)
            run.free(block)
            run.free(grad)
        run.free(big)
        optimizer = (*MAIN, own("training_step", 108), torch("AdamW.step", "optim/adam.py", 244))
        if step == 0:
            for line in (179, 183):
                stack = (*optimizer, torch("Adam._init_group", "optim/adam.py", line))
                for _, where, weight in parameters:
                    states.append(
                        run.alloc(weight * MIB, "optimizer state", stack, 2, "zeros_like", where, "optimizer")
                    )
        for _, where, weight in parameters[:12]:
            square = run.alloc(weight * MIB, "temporaries", optimizer, 2, "sqrt", where, "optimizer")
            run.pause(60)
            run.free(square)
        run.free(data)
        run.pause(1500)
        run.steps.append((step, begin, run.now))
        if step == 7:
            run.phases.append(("warm-up", training, run.now, 0))
            training = run.now
        if step % 10 == 9:
            run.phases.append(("evaluate", run.now - 4_000_000, run.now, 1))
    run.phases.append(("train", training, run.now, 0))
    run.step, run.phase = -1, "export"
    begin = run.now
    if oom:
        export = (*MAIN, own("export_model", 133), torch("save", "serialization.py", 944))
        hold = []
        while len(hold) < 64:
            block = run.alloc(128 * MIB, "other", export, 2, "cat")
            if block is None:
                break
            hold.append(block)
            run.pause(6000)
        run.pause(20_000)
        for block in hold:
            run.free(block)
    run.pause(60_000)
    run.phases.append(("export", begin, run.now, 0))
    run.phases.sort(key=lambda phase: phase[1])
    run.duration_ns = run.now + 1_000_000
    return run
