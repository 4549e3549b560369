"""Parses Prometheus' text format (0.0.4) more strictly than Prometheus does."""

import math
import re

SAMPLE = re.compile(r'([a-z_:][a-z0-9_:]*)(?:\{((?:[a-z_][a-z0-9_]*="[^"\\\n]*",?)*)\})? (\S+)')
SUFFIXES = {"histogram": ["_bucket", "_sum", "_count"], "counter": [""], "gauge": [""]}


def read(text):
    """Returns {(name, ((label, value), ...)): number}; fails on invalid text."""
    assert text.endswith("\n") and "\n\n" not in text and "\r" not in text
    samples, families, family = {}, {}, None
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("# HELP "):
            _, _, family, words = line.split(" ", 3)
            assert words and family not in families, line
            _, keyword, name, kind = next(lines).split(" ")
            assert (keyword, name) == ("TYPE", family) and kind in SUFFIXES, name
            assert (kind == "counter") == family.endswith("_total"), family
            families[family] = kind
            continue
        found = SAMPLE.fullmatch(line)
        assert found, line
        name, labels, number = found.groups()
        # Samples directly follow the HELP and TYPE of their family.
        assert name in [family + suffix for suffix in SUFFIXES[families[family]]], line
        key = (name, tuple(sorted(re.findall(r'([a-z_0-9]+)="([^"]*)"', labels or ""))))
        assert key not in samples, f"twice: {line}"
        assert re.fullmatch(r"\d+(\.\d+)?", number), line
        samples[key] = float(number)
    for family, kind in families.items():
        assert any(name.startswith(family) for name, _ in samples), f"{family} has no value"
        if kind == "histogram":
            check_histogram(samples, family)
    return samples


def check_histogram(samples, family):
    buckets = [(float(labels[0][1]), number) for (name, labels), number in samples.items() if name == f"{family}_bucket"]
    bounds, counts = [bound for bound, _ in buckets], [count for _, count in buckets]
    assert bounds == sorted(set(bounds)) and bounds[-1] == math.inf, bounds
    assert counts == sorted(counts), counts
    assert counts[-1] == samples[f"{family}_count", ()]
    least = sum(
        (count - before) * bound
        for bound, count, before in zip([0, *bounds], counts, [0, *counts])
    )
    assert samples[f"{family}_sum", ()] >= least * 0.999


def value(samples, name, **labels):
    return samples[name, tuple(sorted(labels.items()))]


def total(samples, name):
    return sum(number for (found, _), number in samples.items() if found == name)
