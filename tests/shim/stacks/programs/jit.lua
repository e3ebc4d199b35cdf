-- SPDX-License-Identifier: MIT
-- jit.lua LIBRARY COUNT: traces of LuaJIT allocate COUNT times, from a loop, a recursion and a coroutine; two sizes stay.
local ffi = require("ffi")
ffi.cdef("int jit_allocate(int64_t bytes, int is_freed);")
local library = ffi.load(arg[1])
local count = tonumber(arg[2])
local failed = 0

local function down(left, size)
  if left > 0 then
    return 1 + down(left - 1, size)
  end
  return library.jit_allocate(size, 1)
end

for i = 1, count do
  failed = failed + library.jit_allocate(1000 + i, 1)
end
for i = 1, count / 10 do
  failed = failed + down(20, 1000 + i) - 20
end
local routine = coroutine.wrap(function()
  while true do
    coroutine.yield(library.jit_allocate(5000, 1))
  end
end)
for i = 1, count / 10 do
  failed = failed + routine()
end
print(failed + library.jit_allocate(4711, 0) + library.jit_allocate(4712, 0))
