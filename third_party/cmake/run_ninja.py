"""Runs ninja and shows how far it is: one line that changes in a terminal, else a line every few seconds.

    run_ninja.py FOLDER [TARGET…]

What fails, and every other line that ninja prints, is shown whole. The status is that of ninja.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time

EVERY = 5.0  # seconds between lines, so that nobody waits ten without one
STEP = re.compile(r"\[(\d+)/(\d+)\] ")
QUIET = ("ninja: Entering directory", "ninja: no work to do")


class Progress:
    """How far a build is; told from a thread of its own, because a single step may take long."""

    def __init__(self, folder: str) -> None:
        self.folder, self.step, self.is_over = folder, "0 done", threading.Event()
        self.is_terminal = sys.stdout.isatty()
        self._thread = threading.Thread(target=self._tell, daemon=True)
        self._thread.start()

    def _tell(self) -> None:
        begin = time.monotonic()
        while not self.is_over.wait(0.5 if self.is_terminal else EVERY):
            text = f"building {self.folder}: {self.step} after {time.monotonic() - begin:.0f} s"
            self.show(f"\r\033[K{text}" if self.is_terminal else f"{text}\n")

    def show(self, text: str) -> None:
        print(text, end="", flush=True)

    def end(self) -> None:
        self.is_over.set()
        self._thread.join()
        if self.is_terminal:
            self.show("\r\033[K")


def main() -> int:
    folder, *targets = sys.argv[1:]
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    progress = Progress(folder)
    with subprocess.Popen(
        ["ninja", "-C", folder, *targets],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    ) as run:
        assert run.stdout
        for line in run.stdout:
            if step := STEP.match(line):
                progress.step = f"{step[1]} of {step[2]}"
            elif not line.startswith(QUIET):
                progress.show(f"\r\033[K{line}" if progress.is_terminal else line)
    progress.end()
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
