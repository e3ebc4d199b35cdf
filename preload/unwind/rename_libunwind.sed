# SPDX-License-Identifier: MIT
# Renames libunwind and liblzma in the recorder's copies, and the libc functions that the copy of
# libunwind must not call (libunwind_libc_calls.h). Each new name has the length of the old name.
s/libunwind[.]so[.]8/libgmtunw.so.8/g
s/liblzma[.]so[.]5/libgmtl.so.5/g
s/pipe2/gmtp2/g
s/\x00open\x00/\x00gmto\x00/g
s/\x00syscall\x00/\x00gmtsysc\x00/g
