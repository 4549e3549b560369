#!/usr/bin/env python3
"""Writes Sources/APNS/Payload/GraphemeTable.swift from the Unicode Character Database.

    generate.py [DIRECTORY]            writes the table; default /usr/share/unicode (Debian: unicode-data)
    generate.py --check [DIRECTORY]    writes nothing; fails if the table is out of date

If the database has another version than the table, --check ends with status 77.
"""

import pathlib
import re
import sys

TARGET = pathlib.Path(__file__).parents[2] / "Sources/APNS/Payload/GraphemeTable.swift"
DEBIAN = pathlib.Path("/usr/share/unicode")

# Scripts with conjuncts that stay together (UAX #29, GB9c; UAX #44, Indic_Conjunct_Break).
CONJUNCT_SCRIPTS = {"Bengali", "Devanagari", "Gujarati", "Malayalam", "Oriya", "Telugu"}

CLASSES = ["control", "extend", "prepend", "spacingMark", "pictographic", "consonant", "linker"]
# The maximum number of characters in an entry.
LONGEST = 256


def properties(path, *wanted):
    """The characters with each wanted value in a file of the database."""
    found = {value: set() for value in wanted}
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = [field.strip() for field in line.split("#")[0].split(";")]
        value = "; ".join(fields[1:])
        if value in found:
            first, _, last = fields[0].partition("..")
            found[value].update(range(int(first, 16), int(last or first, 16) + 1))
    for value, characters in found.items():
        assert characters, f"{path}: no character is {value}"
    return [found[value] for value in wanted]


def classes(database):
    """The class of every character that is not hard-coded."""
    control, extend, prepend, spacing = properties(
        database / "auxiliary/GraphemeBreakProperty.txt", "Control", "Extend", "Prepend", "SpacingMark")
    pictographic, = properties(database / "emoji/emoji-data.txt", "Extended_Pictographic")
    # Indic_Conjunct_Break came with 15.1; this is how UAX #44 derives it.
    consonant, virama = properties(database / "IndicSyllabicCategory.txt", "Consonant", "Virama")
    scripts = set().union(*properties(database / "Scripts.txt", *CONJUNCT_SCRIPTS))
    sets = [control, extend - (virama & scripts), prepend, spacing,
            pictographic, consonant & scripts, virama & scripts]
    assert virama & scripts <= extend and not consonant & scripts & extend
    result = {}
    for number, characters in enumerate(sets, start=1):
        for character in characters:
            assert character not in result, f"{character:04X} is in two classes"
            result[character] = number
    return result


def ranges(result):
    """Runs of one class, limited to the length of an entry."""
    runs = []
    for character in sorted(result):
        number = result[character]
        if runs:
            first, count, last = runs[-1]
            if last == number and first + count == character and count < LONGEST:
                runs[-1] = (first, count + 1, number)
                continue
        runs.append((character, 1, number))
    return runs


def write(database):
    header = (database / "auxiliary/GraphemeBreakProperty.txt").read_text(encoding="utf-8")
    version = re.match(r"# GraphemeBreakProperty-([0-9.]+)\.txt", header).group(1)
    runs = ranges(classes(database))
    entries = [f"0x{first << 11 | count - 1 << 3 | number:08X}" for first, count, number in runs]
    rows = [", ".join(entries[index:index + 8]) for index in range(0, len(entries), 8)]
    table = ",\n  ".join(rows)
    return version, f"""\
// Written by Tests/Unicode/generate.py from the Unicode Character Database {version}. Do not edit.

/// Which characters join with their neighbours into one visible character (UAX #29), in
/// order: the first of a run in the upper 21 bits, how many follow it in 8, the class in 3.
/// Hangul, regional indicators and the joiners are not in it: `GraphemeClass` knows them.
let graphemeTable: InlineArray<{len(entries)}, UInt32> = [
  {table},
]
"""


def main():
    arguments = sys.argv[1:]
    check = arguments[:1] == ["--check"]
    rest = arguments[1:] if check else arguments
    if len(rest) > 1 or rest and rest[0].startswith("-"):
        sys.exit(__doc__)
    database = pathlib.Path(rest[0]) if rest else DEBIAN
    if not (database / "emoji/emoji-data.txt").exists():
        print(f"skipped: no Unicode Character Database in {database}")
        sys.exit(77 if check else 1)
    version, text = write(database)
    if not check:
        TARGET.write_text(text)
    elif f"Database {version}." not in TARGET.read_text():
        print(f"skipped: {database} is Unicode {version}, not the table's version")
        sys.exit(77)
    elif TARGET.read_text() != text:
        sys.exit(f"{TARGET.name} is not what {pathlib.Path(__file__).name} writes")


if __name__ == "__main__":
    main()
