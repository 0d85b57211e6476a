"""The wire format of protobuf, for those who know which fields to look for."""

import struct


def varint(data, at):
    """A number, and where it ends."""
    value = shift = 0
    while data[at] >= 0x80:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1


def numbers(data):
    """A list of numbers that are one field."""
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def zigzag(value):
    """The signed number of a sint32 or sint64."""
    return value >> 1 ^ -(value & 1)


def fields(data):
    """The fields of a message, as pairs of number and value: a number, a double, or what is neither as bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key % 8
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            (value,), at = struct.unpack_from("<d", data, at), at + 8
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            raise ValueError(f"field {key // 8} has wire type {kind}")
        yield key // 8, value


def messages(data):
    """Messages that follow each other, each behind its length."""
    at = 0
    while at < len(data):
        length, at = varint(data, at)
        yield data[at:at + length]
        at += length
