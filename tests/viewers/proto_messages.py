# SPDX-License-Identifier: MIT
"""Message classes of Protocol Buffers, made from tables, so that the tests need no compiler for schemas."""

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

KINDS = {"int64": 3, "uint64": 4, "bool": 8, "string": 9, "message": 11}


def classes(package, messages):
    """Returns {name: class}. `messages` is {message: [(number, name, type)]}; "*" before a type: repeated."""
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for number, field, kind in fields:
            bare = kind.lstrip("*")
            row = message.field.add(name=field, number=number, label=3 if kind[0] == "*" else 1)
            row.type = KINDS.get(bare, KINDS["message"])
            if bare not in KINDS:
                row.type_name = f".{package}.{bare}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClassesForFiles([file.name], pool)
