"""Unit tests of reading native histograms."""

import struct

import pytest

from histograms import Histogram


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def sint(value):
    return varint(value << 1 if value >= 0 else ~(value << 1))


def text(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def histogram(schema, spans, deltas, packed=False, zeros=0):
    """Without a sum or count of its own."""
    out = varint(5 << 3) + sint(schema) + varint(7 << 3) + varint(zeros)
    for offset, length in spans:
        out += text(12, varint(1 << 3) + sint(offset) + varint(2 << 3) + varint(length))
    if packed:
        return out + text(13, b"".join(map(sint, deltas)))
    return out + b"".join(varint(13 << 3) + sint(delta) for delta in deltas)


def page(name, message, count, total):
    message += varint(1 << 3) + varint(count) + varint(2 << 3 | 1) + struct.pack("<d", total)
    families = [text(1, b"other") + varint(3 << 3) + b"\x04" + text(4, text(7, b"")), text(1, name.encode()) + text(4, text(7, message))]
    return b"".join(varint(len(f)) + f for f in families)


@pytest.mark.parametrize("packed", [False, True])
def test_buckets_are_read(packed):
    # 1, 300, then a gap of three, then 299
    read = Histogram.read(page("x", histogram(3, [(-80, 2), (3, 1)], [1, 299, -1], packed), 600, 1.5), "x")
    assert read.base == 2 ** 0.125
    assert read.buckets == {-80: 1, -79: 300, -75: 299}
    assert (read.count, read.mean) == (600, 1.5 / 600)


def test_what_is_not_there_is_not_zero():
    with pytest.raises(KeyError):
        Histogram.read(page("x", histogram(3, [], []), 0, 0), "y")


@pytest.mark.parametrize("part, value", [(0.2, 2 ** 0.5), (0.4, 2), (0.7, 4 * 2 ** 0.5), (1, 8)])
def test_a_quantile_lies_in_its_bucket(part, value):
    # 4 of (1, 2], 6 of (4, 8]
    read = Histogram.read(page("x", histogram(0, [(1, 1), (1, 1)], [4, 2]), 10, 0), "x")
    assert read.quantile(part) == pytest.approx(value)


def test_zeros_come_first():
    read = Histogram.read(page("x", histogram(0, [(1, 1)], [2], zeros=2), 4, 0), "x")
    assert read.quantile(0.4) == 0
    assert read.quantile(0.75) == pytest.approx(2 ** 0.5)


def test_plays_add_up():
    one = Histogram.read(page("x", histogram(3, [(0, 1)], [2]), 2, 1.0), "x")
    other = Histogram.read(page("x", histogram(3, [(0, 2)], [1, 0]), 2, 2.0), "x")
    assert (one + other).buckets == {0: 3, 1: 1}
    assert (one + other).mean == 0.75
