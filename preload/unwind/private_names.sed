# SPDX-License-Identifier: MIT
# The copies of libunwind and liblzma under names of our own, and the calls of libunwind that are ours
# (unwinder_calls.h). Each of the length of what it replaces.
s/libunwind[.]so[.]8/libgmtunw.so.8/g
s/liblzma[.]so[.]5/libgmtl.so.5/g
s/pipe2/gmtp2/g
s/\x00open\x00/\x00gmto\x00/g
s/\x00syscall\x00/\x00gmtsysc\x00/g
