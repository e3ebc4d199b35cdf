# SPDX-License-Identifier: MIT
"""Uses each memory resource of cuda.core once, and leaves memory at its end."""

import json

from cuda.core import Device, DeviceMemoryResource, ManagedMemoryResource, PinnedMemoryResource, VirtualMemoryResource

device = Device(0)
device.set_current()
stream = device.create_stream()
resource = DeviceMemoryResource(device)
kept = [resource.allocate(1 << 20, stream=stream) for _ in range(10)]
resource.allocate(64 << 20, stream=stream).close(stream)
pinned = PinnedMemoryResource().allocate(1 << 20, stream=stream)
virtual = VirtualMemoryResource(device).allocate(4 << 20)
managed = ManagedMemoryResource().allocate(6 << 20, stream=stream)
stream.sync()
print(json.dumps({"used_bytes": resource.attributes.used_mem_current}))
