"""Text as mdoc(7), the language of manual pages."""

import re
import textwrap

OPENING, CLOSING = "([", ".,:;)]?!"


def escaped(text):
    text = text.replace("\\", "\\e").replace("…", "...")
    return re.sub(r"(?<![\w\\-])-(?=\d)", r"\\-", text)


def argument(text):
    """One argument of a macro."""
    text = escaped(text).replace('"', "\\(dq")
    if re.fullmatch(r"[A-Z%][A-Za-z0-9]?", text) or text in tuple(OPENING + CLOSING):
        text = "\\&" + text
    return f'"{text}"' if " " in text or not text else text


def line(text):
    text = escaped(text)
    return "\\&" + text if text[0] in ".'" else text


def macro(before, name, words, after):
    """A macro in running text, with the characters attached to it."""
    parts = [*before] if all(one in OPENING for one in before) else ["No", argument(before), "Ns", name]
    out = "." + " ".join([name, *parts] if parts[:1] != ["No"] else parts)
    out += " " + " ".join(words)
    stuck = after.rstrip(CLOSING)
    if stuck:
        out += " Ns " + argument(stuck)
    return " ".join([out, *after[len(stuck):]])


def sentences(text):
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`\"(])", text)


def prose(text, special):
    """Lines of mdoc, a sentence and a special word on each. special(word) says which macro
    a word is, and with which arguments; None for plain text."""
    out = []
    pattern = re.compile(r"(?P<before>[^\s`]*?)(?P<word>`[^`]+`|\b[A-Za-z_]\w*(?:\(\))?)(?P<after>[^\s`]*)")
    for sentence in sentences(" ".join(text.split())):
        plain = []

        def flush():
            if plain:
                out.extend(map(line, textwrap.wrap(" ".join(plain), 78, break_long_words=False,
                                                   break_on_hyphens=False)))
                plain.clear()

        at = 0
        while at < len(sentence):
            if sentence[at] == " ":
                at += 1
                continue
            end = sentence.find(" ", at)
            end = len(sentence) if end < 0 else end
            tick = sentence.find("`", at, end)
            if tick >= 0:
                end = sentence.index("`", tick + 1) + 1
                stop = sentence.find(" ", end)
                end = len(sentence) if stop < 0 else stop
            chunk = sentence[at:end]
            at = end
            found = pattern.fullmatch(chunk)
            made = found and special(found["word"])
            if made:
                flush()
                out.append(macro(found["before"], made[0], made[1:], found["after"]))
            else:
                plain.append(chunk)
        flush()
    return out


def paragraphs(comment):
    """Splits a comment into ("text", lines), ("code", lines) and ("list", items)."""
    for block in re.split(r"\n\s*\n", comment):
        lines = block.split("\n")
        if lines[0].startswith("    "):
            yield "code", [one[4:] for one in lines]
            continue
        text, items = [], []
        for one in lines:
            if one.startswith("  - "):
                items.append(one[4:])
            elif items and one.startswith("    "):
                items[-1] += " " + one.strip()
            elif items:
                yield from filter(lambda part: part[1], (("text", text), ("list", items)))
                text, items = [one], []
            else:
                text.append(one)
        yield from filter(lambda part: part[1], (("text", text), ("list", items)))


def comment(text, special):
    out = []
    for kind, lines in paragraphs(text):
        if kind == "text":
            out += [".Pp", *prose(" ".join(lines), special)]
        elif kind == "code":
            out += [".Bd -literal -offset indent", *map(line_of_code, lines), ".Ed"]
        else:
            out += [".Bl -bullet"]
            for item in lines:
                out += [".It", *prose(item, special)]
            out += [".El"]
    return out[1:] if out[:1] == [".Pp"] else out


def line_of_code(text):
    return line(text) if text else ""
