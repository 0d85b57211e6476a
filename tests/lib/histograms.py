"""Native histograms: buckets so narrow that a median can be told, where those of the text format are a factor of two wide.
A component of Kubernetes serves them from 1.37 on, to whoever accepts PROTOBUF.

    Histogram.read(body, "scheduler_scheduling_algorithm_duration_seconds").quantile(0.5)
"""

import collections
import dataclasses
import itertools

from protobuf import fields, messages, numbers, zigzag

# Fields of io.prometheus.client: of a MetricFamily, a Metric, a Histogram and its spans.
FAMILY_NAME, FAMILY_METRIC = 1, 4
METRIC_HISTOGRAM = 7
COUNT, SUM, SCHEMA, ZERO_COUNT, SPAN, DELTA = 1, 2, 5, 7, 12, 13
SPAN_OFFSET, SPAN_LENGTH = 1, 2

PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"


@dataclasses.dataclass
class Histogram:
    """buckets: count by index; that of index i is of values above base ** (i - 1) up to base ** i."""
    base: float
    count: int
    sum: float
    zeros: int  # too small for any bucket
    buckets: collections.Counter

    @classmethod
    def read(cls, body, name):
        """That of a metric without labels, out of a whole page."""
        for family in messages(body):
            found = dict(fields(family))
            if found[FAMILY_NAME].decode() == name:
                return cls.decode(dict(fields(found[FAMILY_METRIC]))[METRIC_HISTOGRAM])
        raise KeyError(name)

    @classmethod
    def decode(cls, message):
        one, spans, deltas = {}, [], []
        for number, value in fields(message):
            if number == SPAN:
                spans.append(dict(fields(value)))
            elif number == DELTA:  # one by one, or packed
                deltas.extend(map(zigzag, numbers(value) if isinstance(value, bytes) else [value]))
            else:
                one[number] = value
        buckets, at, counts = collections.Counter(), 0, itertools.accumulate(deltas)
        for span in spans:
            at += zigzag(span.get(SPAN_OFFSET, 0))
            for _ in range(span.get(SPAN_LENGTH, 0)):
                buckets[at] = next(counts)
                at += 1
        return cls(2 ** 2 ** -zigzag(one.get(SCHEMA, 0)), one.get(COUNT, 0), one.get(SUM, 0.0), one.get(ZERO_COUNT, 0),
                   buckets)

    def __add__(self, other):
        assert self.base == other.base, "buckets of different widths"
        return Histogram(self.base, self.count + other.count, self.sum + other.sum, self.zeros + other.zeros,
                         self.buckets + other.buckets)

    @property
    def mean(self):
        return self.sum / self.count

    def quantile(self, part):
        """Within a bucket as Prometheus has it: in proportion, of exponents."""
        left = part * self.count - self.zeros
        for index in sorted(self.buckets):
            if left <= self.buckets[index]:
                return self.base ** (index - 1 + max(0, left) / self.buckets[index]) if left > 0 else 0.0
            left -= self.buckets[index]
        raise ValueError(f"{self.count} values, and fewer in buckets")
