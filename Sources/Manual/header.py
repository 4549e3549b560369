"""Reads a libapns header: its declarations with their comments."""

import pathlib
import re
from dataclasses import dataclass, field


@dataclass
class Member:
    """A field of a structure, or a constant of an enumeration."""

    declaration: str
    name: str
    group: str  # the comment above it, which applies to the following members too
    note: str  # the comment on its line


@dataclass
class Item:
    kind: str  # function, structure, enumeration, opaque, callback, macro
    name: str
    comment: str
    declaration: str
    members: list[Member] = field(default_factory=list)
    result: str = ""
    arguments: list[str] = field(default_factory=list)


@dataclass
class Section:
    title: str
    items: list[Item] = field(default_factory=list)


@dataclass
class Header:
    file: str
    comment: str
    sections: list[Section]

    def items(self, *kinds):
        for section in self.sections:
            for item in section.items:
                if not kinds or item.kind in kinds:
                    yield item


TOKEN = re.compile(
    r"(?P<comment>/\*.*?\*/)"
    r"|(?P<directive>^\#(?:[^\n]*\\\n)*[^\n]*)"
    r"|(?P<declaration>[A-Za-z](?:[^;{/]|/(?!\*))*(?:\{(?:/\*.*?\*/|[^}])*\}[^;]*)?;)"
    r"|(?P<blank>\n[ \t]*\n)",
    re.S | re.M,
)


def text_of(comment):
    """The text of a comment, without its stars; the indentation of code is kept."""
    lines = re.sub(r"^/\*+<?|\*+/$", "", comment).split("\n")
    lines = [lines[0].strip()] + [re.sub(r"^\s*\* ?", "", line).rstrip() for line in lines[1:]]
    return "\n".join(lines).strip("\n")


def inner_text(comment):
    """The text of a comment within a declaration, where lines have no stars."""
    return " ".join(re.sub(r"^/\*+|\*+/$", "", comment).split())


def members_of(body, pattern):
    members, group = [], ""
    for part in re.finditer(r"(?P<code>[^\s/][^;,/]*(?:\([^)]*\))?)[;,]?(?P<beside>[ \t]*/\*.*?\*/)?"
                            r"|(?P<above>/\*.*?\*/)|(?P<blank>\n[ \t]*\n)", body, re.S):
        if part["blank"]:
            group = ""
        elif part["above"]:
            group = inner_text(part["above"])
        else:
            code = " ".join(part["code"].split())
            found = re.search(pattern, code)
            note = inner_text(part["beside"].strip()) if part["beside"] else ""
            members.append(Member(code, found[1], group, note))
    return members


def item_of(declaration, comment):
    plain = " ".join(re.sub(r"/\*.*?\*/", "", declaration, flags=re.S).split())
    # A forward declaration of another header's structure.
    if re.fullmatch(r"struct \w+;", plain):
        return None
    if found := re.fullmatch(r"typedef struct (\w+) \1_t;", plain):
        return Item("opaque", found[1] + "_t", comment, plain)
    if found := re.match(r"typedef (struct|enum) (\w+) \{(.*)\} \2_t;", declaration, re.S):
        if found[1] == "struct":
            return Item("structure", found[2] + "_t", comment, declaration,
                        members_of(found[3], r"(\w+)(?:\[\w+\])?$"))
        return Item("enumeration", found[2] + "_t", comment, declaration,
                    members_of(found[3], r"^(\w+)"))
    if found := re.match(r"typedef .*\(\*(\w+)\)", plain):
        return Item("callback", found[1], comment, plain)
    if found := re.fullmatch(r"(.*?[ *])(\w+)\((.*)\);", plain):
        arguments = [] if found[3] == "void" else [one.strip() for one in found[3].split(",")]
        return Item("function", found[2], comment, plain, [], found[1].strip(), arguments)
    raise SystemExit(f"unknown kind of declaration: {plain}")


def read(path):
    text = pathlib.Path(path).read_text()
    text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "\n", text, flags=re.S | re.M)
    header = Header(pathlib.Path(path).name, "", [Section("")])
    comment = None
    for token in TOKEN.finditer(text):
        section = header.sections[-1]
        if token["comment"]:
            if title := re.fullmatch(r"/\* -+ (.*?) -+ \*/", token["comment"]):
                header.sections.append(Section(title[1]))
            elif not header.comment:
                header.comment = text_of(token["comment"])
            else:
                comment = text_of(token["comment"])
        elif token["directive"]:
            found = re.match(r"#define (\w+) ([^\n]+?)(?:\s*(/\*.*?\*/))?$", token["directive"], re.S)
            if found and not found[1].endswith("_INIT"):
                note = text_of(found[3]) if found[3] else ""
                section.items.append(Item("macro", found[1], "\n\n".join(filter(None, (comment, note))),
                                          f"#define {found[1]} {found[2]}"))
        elif token["declaration"]:
            if item := item_of(token["declaration"], comment or ""):
                section.items.append(item)
                comment = None
        elif token["blank"]:
            comment = None
    return header
