"""The C interface from LuaJIT, with declarations that a person wrote."""

import re
import subprocess

import pytest
from apns import COUNT, token
from hosts import need
from relayed import EXAMPLES
from simulator import DEADLINE, ROOT, until

PROGRAM = EXAMPLES / "luajit/push.lua"
LIBRARY = ROOT / "build/release"


@pytest.fixture
def luajit():
    return need("luajit")


def test_pushes_and_their_outcomes(luajit, apns, tmp_path):
    ready = apns.ready
    words = [luajit, PROGRAM, ready["token_key"], ready["token_key_id"], ready["token_team_id"], "com.example.app", 'Say "hé"',
             "127.0.0.1", str(ready["http2_port"]), ready["ca"]]
    out, errors = tmp_path / "out", tmp_path / "errors"
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=open(out, "w"), stderr=open(errors, "w"), text=True,
                          env={"LD_LIBRARY_PATH": str(LIBRARY), "APNS_TOKEN_CACHE": "off"}) as program:
        try:
            def give(lines):
                program.stdin.write("".join(line + "\n" for line in lines))
                program.stdin.flush()

            give([token(n) for n in range(100)] + ["xyz"])
            apns.wait(60)
            apns.kill()
            give(token(n) for n in range(100, COUNT))
            program.stdin.close()
            until(errors.read_text)
            apns.start()
            assert program.wait(DEADLINE) == 0, errors.read_text()
        finally:
            program.kill()
    told = dict(line.split(": ", 1) for line in out.read_text().splitlines())
    assert told.pop("xyz").startswith("refused: ")
    assert len(out.read_text().splitlines()) == COUNT + 1
    # Only a push without a response when APNs was killed may be there twice, and no more than those of the first hundred.
    apns.judge({one for one, outcome in told.items() if outcome == "accepted"},
               {one for one, outcome in told.items() if outcome.startswith("rejected: BadDeviceToken")},
               again=dict.fromkeys((token(n) for n in range(100)), COUNT))
    assert '"Say \\u0022hé\\u0022"' in apns.ledger()[-1]["payload"]


def test_the_declarations_are_those_of_the_header(luajit, tmp_path):
    """The names, places and sizes of all fields, by C and by LuaJIT."""
    text = re.search(r"ffi.cdef \[\[\n(.*?)\]\]", PROGRAM.read_text(), re.S)[1]
    places = []
    for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", text, re.S):
        fields = re.findall(r"(?<![\w])([a-z]\w*)(?:\[\d+\])?\s*[,;]", re.sub(r"\w+_\[\d+\]|\b_\d?(\[\d+\])?", "", body))
        places += [f"sizeof({name})", *(f"offsetof({name}, {field})" for field in fields if not field.endswith("_t"))]
    assert len(places) > 40
    source = tmp_path / "places.c"
    source.write_text("#include <apns/apns.h>\n#include <stdio.h>\nint main(void) {\n" + "".join(
        f'printf("%zu\\n", {place});\n' for place in places) + "}\n")
    subprocess.run(["cc", "-Wall", "-Werror", f"-I{ROOT / 'include'}", source, "-o", tmp_path / "places"], check=True)
    by_c = subprocess.run([tmp_path / "places"], check=True, capture_output=True, text=True).stdout
    lua = [re.sub(r"(\w+)\((\w+)(?:, (\w+))?\)", lambda m: f'print(ffi.{m[1]}("{m[2]}"' + (f', "{m[3]}"' if m[3] else "") + "))", place)
           for place in places]
    script = tmp_path / "places.lua"
    script.write_text(f'ffi = require "ffi"\nffi.cdef [[{text}]]\n' + "\n".join(lua))
    by_lua = subprocess.run([luajit, script], check=True, capture_output=True, text=True).stdout
    assert by_lua.split() == by_c.split(), list(zip(places, by_c.split(), by_lua.split()))
