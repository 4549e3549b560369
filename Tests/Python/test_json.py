"""The JSON of a dict: the bytes of json.dumps(), or the same exception."""

import collections
import enum
import json
import math
import random
import struct
import sys
import threading

import libapns
import pytest

from traces import SANITIZED, alive, grows, watched

encode = libapns._core.encode_json


def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


class Word(str):
    def __str__(self):
        return "another"

    __repr__ = __str__


class Number(int):
    def __repr__(self):
        return "another"

    __str__ = __index__ = __int__ = __repr__


class Measure(float):
    def __repr__(self):
        return "another"

    __str__ = __float__ = __repr__


class Color(enum.IntEnum):
    RED = 1
    BLUE = 1 << 70


class Backwards(list):
    """A list that differs from its iterator."""

    def __iter__(self):
        return reversed(list(super().__iter__()))


class Pair(tuple):
    def __iter__(self):
        return iter(("one", "two", "three"))


class Doubled(dict):
    def items(self):
        return iter([pair for pair in super().items() for _ in range(2)])


Point = collections.namedtuple("Point", "x y")


def moved():
    ordered = collections.OrderedDict(a=1, b=2, c=3)
    ordered.move_to_end("a")
    return ordered


PLAIN = [
    {}, [], (), {"aps": {}}, [[]], [{}], ({},), "", "aps", 0, -1, True, False, None, [True, None, False],
    {"a": [1, (2, [3, {"b": ()}])]}, [[[]], [], {"x": {}}],
    # Each escaped character, and its neighbours.
    "".join(map(chr, range(0x100))), *map(chr, range(0x30)), "\\\\\"\"", "/", "\x7f", "\u2028\u2029", "\ufeff",
    "é", "€", "😀", "\U0010ffff", "\ud7ff\ue000", "x" * 15 + '"', "x" * 16 + "\n", "x" * 17 + "\\", "é" * 3000 + '"',
    "\0" * 5000, "x" * 100_000, {"\n": "\t", '"': "\\"},
    # Integers around the limits of C's types, and beyond.
    *(sign * (1 << bits) + one for bits in (7, 31, 32, 53, 62, 63, 64, 200, 10_000) for sign in (1, -1)
      for one in (-1, 0, 1)),
    # Floats, written as repr() does.
    0.0, -0.0, 1.0, 1.5, 0.1, 1 / 3, 1e15, 1e16, 1e17, 1e22, 1e23, 1e-4, 1e-5, 123456789012345680.0, 5e-324,
    sys.float_info.max, sys.float_info.min, -1e100, 2.0**53, 9007199254740993.0,
    # Keys that are not strings.
    {1: 2, 1.5: 3, True: 4, False: 5, None: 6, "x": 7}, {-0.0: 1}, {1e16: 1}, {1 << 100: 1}, {"1": 1, 1: 2},
    # Subclasses are written as their base class, by their contents.
    Word("a\"b"), {Word("k"): Word("v")}, Number(7), Number(1 << 90), {Number(8): Number(9)}, Measure(2.5),
    {Measure(0.5): Measure(-1)}, Color.RED, Color.BLUE, {Color.RED: Color.BLUE}, Backwards([1, 2, 3]), Pair("ab"),
    Point(1, [2]), moved(), collections.defaultdict(list, a=[1]), collections.Counter("aab"), Doubled(a=1, b=[2]),
    Doubled(), Backwards(),
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=range(len(PLAIN)))
def test_the_bytes_of_json_dumps(value):
    assert encode(value) == dumps(value)
    assert encode([value, value]) == dumps([value, value])
    assert encode({"aps": value}) == dumps({"aps": value})


def any_text(chance):
    ranges = ((0x20, 0x7F), (0, 0x30), (0x5B, 0x5E), (0x80, 0x800), (0x800, 0xD800), (0xE000, 0x110000))
    return "".join(chr(chance.randrange(*chance.choice(ranges))) for _ in range(chance.choice((0, 1, 3, 17, 60))))


def any_float(chance):
    while True:
        value = chance.choice((
            lambda: struct.unpack("d", chance.randbytes(8))[0],
            lambda: round(chance.uniform(-1000, 1000), chance.randrange(5)),
            lambda: float(chance.randrange(1 << 60)),
        ))()  # fmt: skip
        if math.isfinite(value):
            return value


def any_value(chance, depth):
    kind = chance.randrange(9 if depth else 6)
    if kind == 0:
        return chance.choice((None, True, False))
    if kind == 1:
        return chance.choice((1, -1)) * chance.getrandbits(chance.choice((1, 8, 31, 63, 64, 65, 300)))
    if kind == 2:
        return any_float(chance)
    if kind < 6:
        return any_text(chance)
    several = range(chance.choice((0, 1, 2, 5)))
    if kind == 6:
        return [any_value(chance, depth - 1) for _ in several]
    if kind == 7:
        return tuple(any_value(chance, depth - 1) for _ in several)
    keys = (lambda: any_value(chance, 0), lambda: any_text(chance))
    return {chance.choice(keys)(): any_value(chance, depth - 1) for _ in several}


@pytest.mark.parametrize("seed", range(8))
def test_random_values(seed):
    chance = random.Random(seed)
    for _ in range(500 if SANITIZED else 5000):
        value = any_value(chance, chance.randrange(6))
        assert encode(value) == dumps(value), value


def nested(depth, inner=0, way=lambda value: [value]):
    for _ in range(depth):
        inner = way(inner)
    return inner


def circular(way):
    inner = []
    inner.append(nested(3, inner, way))
    return inner


class Itself(dict):
    def items(self):
        return [("a", self)]


@pytest.mark.parametrize(
    "value",
    [
        circular(lambda value: [value]), circular(lambda value: {"a": value}), circular(lambda value: (value,)),
        circular(lambda value: Backwards([value])), circular(lambda value: Doubled(a=value)), Itself(a=1),
    ],  # fmt: skip
    ids=range(6),
)
def test_circles(value):
    with pytest.raises(ValueError, match="Circular reference"):
        dumps(value)
    with pytest.raises(ValueError, match="Circular reference"):
        encode(value)


@pytest.mark.parametrize(
    "way", [lambda value: [value], lambda value: (value,), lambda value: {"a": value}, lambda value: Doubled(a=value)]
)
def test_depth(way):
    depth = 10 if isinstance(way(0), Doubled) else 512  # 2 to the depth values
    assert encode(nested(depth, 0, way)) == dumps(nested(depth, 0, way))
    if depth == 512:
        for deeper in (513, 100_000):
            with pytest.raises(RecursionError, match="nested more than 512 deep"):
                encode(nested(deeper, 0, way))


@pytest.mark.parametrize(
    "value, kind, said",
    [
        (math.nan, ValueError, "not JSON compliant"),
        ({"a": math.inf}, ValueError, "not JSON compliant"),
        ([-math.inf], ValueError, "not JSON compliant"),
        ({math.nan: 1}, ValueError, "not JSON compliant"),
        ({"a": {1}}, TypeError, "Object of type set is not JSON serializable"),
        ([b"x"], TypeError, "Object of type bytes is not JSON serializable"),
        (object(), TypeError, "Object of type object is not JSON serializable"),
        ([1j], TypeError, "Object of type complex is not JSON serializable"),
        ({(1, 2): 3}, TypeError, "keys must be str, int, float, bool or None, not tuple"),
        ({b"a": 3}, TypeError, "keys must be str, int, float, bool or None, not bytes"),
        ("\ud800", UnicodeEncodeError, "surrogates not allowed"),
        ({"a": ["x\udfffy"]}, UnicodeEncodeError, "surrogates not allowed"),
        ({"\ud83d\ude00": 1}, UnicodeEncodeError, "surrogates not allowed"),
        (Word("\udc00"), UnicodeEncodeError, "surrogates not allowed"),
    ],
)
def test_values_that_json_cannot_represent(value, kind, said):
    with pytest.raises(kind):
        dumps(value)
    with pytest.raises(kind, match=said):
        encode(value)


def outcome(function, value):
    try:
        return function(value)
    except Exception as error:
        return type(error)


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="this Python does not limit the digits of an int")
def test_integers_of_more_digits_than_python_writes():
    for value in (10**4299, 10**4301, -(10**4301), {10**4301: 1}, Number(10**4301)):
        assert outcome(encode, value) == outcome(dumps, value)
    assert outcome(encode, 10**4301) is ValueError


class Hostile(dict):
    """Calls a function when its items are read."""

    def __init__(self, function):
        super().__init__(a=1)
        self.items = function


def test_values_that_change_while_they_are_written():
    row = [1, Hostile(lambda: row.clear() or []), 2, 3]
    assert encode(row) == b"[1,{}]"
    row = [Hostile(lambda: row.append(5) or []), 2]
    assert encode(row) == b"[{},2,5]"
    table = {"a": Hostile(lambda: table.clear() or [("b", "c" * 50)]), "d": 1}
    with pytest.raises(RuntimeError, match="changed size"):
        encode(table)
    items = [("a", Hostile(lambda: items.clear() or [("b", [object])]))]
    with pytest.raises(TypeError, match="type is not JSON serializable"):
        encode(Hostile(lambda: items))
    # Drops the only reference to the value that is being written.
    table = {"k" * 20: Hostile(lambda: table.update({"k" * 20: None}) or [("b", "c")]), "d": 1}
    assert encode(table) == b'{"kkkkkkkkkkkkkkkkkkkk":{"b":"c"},"d":1}'
    many = dict.fromkeys(map(str, range(30)), 1)
    table = {"k": {"a": Hostile(lambda: table.update(k=None) or [("b", "c")]), **many}}
    assert encode(table) == dumps({"k": {"a": {"b": "c"}, **many}})
    row = [[Hostile(lambda: row.clear() or [("b", "c")]), "d"]]
    assert encode(row) == b'[[{"b":"c"},"d"]]'


@pytest.mark.parametrize(
    "items, kind",
    [
        (lambda: [1], ValueError),
        (lambda: [("a",)], ValueError),
        (lambda: [("a", 1, 2)], ValueError),
        (lambda: [["a", 1]], ValueError),
        (lambda: None, TypeError),
        (lambda: 1 / 0, ZeroDivisionError),
        (lambda: (1 / 0 for _ in range(1)), ZeroDivisionError),
        (lambda: [([], 1)], TypeError),
    ],
)
def test_invalid_items(items, kind):
    assert outcome(dumps, Hostile(items)) is kind
    assert outcome(encode, Hostile(items)) is kind


def test_an_iterator_that_fails():
    class Broken(list):
        def __iter__(self):
            yield 1
            raise ZeroDivisionError

    for value in (Broken([1]), {"a": [Broken()]}):
        with pytest.raises(ZeroDivisionError):
            encode(value)


def test_recursion_through_items_raises_a_recursion_error():
    def again():
        encode(nested(300, Hostile(again)))
        return []

    with pytest.raises(RecursionError):
        encode(Hostile(again))


def test_threads_change_a_value_while_others_write_it():
    table = {str(number): [number] for number in range(50)}
    done = threading.Event()

    def change():
        number = 0
        while not done.is_set():
            number += 1
            table[str(number % 100)] = [number, {"x": str(number)}]
            table.pop(str((number + 50) % 100), None)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(2000):
            written = outcome(encode, table)
            assert written is RuntimeError or json.loads(written)
    finally:
        done.set()
        thread.join()


def test_encoding_leaks_nothing():
    things, references = watched(4)

    class Text(str):
        pass

    for thing, value in zip(things, ({"a": [1, Text("x"), {}]}, {"a": {1}}, ["\ud800"], [math.nan])):
        holder = Hostile(lambda thing=thing, value=value: [("thing", value)])
        holder.thing = thing
        outcome(encode, holder)
    del things, thing, holder
    assert alive(references) == 0

    def work():
        for value in ({"a": ["x" * 5000, 1 << 200, 1.5, Color.BLUE]}, {"a": [1 << 200, {2}]}, [[["\ud800"]]]):
            for _ in range(500):
                outcome(encode, value)

    # If each leaked one of the smallest objects, this would be 960,000.
    assert grows(work, 20) < 100_000
