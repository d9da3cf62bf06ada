"""Commands of the installed package where one library is hidden: `python without.py CASES`, run by test_wheel.py.

CASES is JSON: [[library, [argument, ...]], ...]. Each case runs in a child, and gives [exit code, what it said].
"""

import io
import json
import os
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout

import rankveil.cli.run


def run(library: str, arguments: list[str]) -> tuple[int, str]:
    signal.alarm(60)  # a command that does not notice must not serve for ever
    sys.modules[library] = None  # type: ignore[assignment]  # from here on it cannot be imported
    sys.argv = ["rankveil", *arguments]
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = rankveil.cli.run.run()
    return code, said.getvalue()


def in_a_child(library: str, arguments: list[str]) -> list[object]:
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        try:
            with open(writer, "w", encoding="utf-8") as file:  # noqa: PTH123
                json.dump(run(library, arguments), file)
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as file:  # noqa: PTH123
        answer = json.load(file)
    os.waitpid(child, 0)
    return answer


print(json.dumps([in_a_child(library, arguments) for library, arguments in json.loads(sys.argv[1])]))
