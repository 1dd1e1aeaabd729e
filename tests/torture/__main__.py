"""Kills, faults, random play and a soak, with their figures in docs/reliability.md: `make torture`.

python -m tests.torture [--length 1.0] [--seed N] [--page docs/reliability.md] [--only PHASE …]
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.torture.kills.kill_matrix import ROOT
from tests.torture.page import page_of
from tests.torture.phases import PHASES, Found, Wanted, run_phase

AT_A_TIME = 2
LONGEST = 3_600.0


def main() -> int:
    """Run all phases, two at a time; write the page when all ran and no fault was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--length", type=float, default=1.0, help="1 is everything, less is a share of it")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--page", type=Path, help="where to write the page; not written otherwise")
    parser.add_argument("--only", nargs="+", choices=PHASES, metavar="PHASE", help=", ".join(PHASES))
    parser.add_argument("--results", type=Path, help="where each phase leaves its figures")
    parser.add_argument("--phase", choices=PHASES, help=argparse.SUPPRESS)
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    wanted = Wanted(given.seed, given.length)
    if given.phase is not None:
        run_phase(given.phase, wanted, given.into)
        return 0
    began = time.monotonic()
    print(f"seed {wanted.seed}; --seed {wanted.seed} repeats this", flush=True)
    with tempfile.TemporaryDirectory(prefix="storyengine-torture-") as temporary:
        results = given.results or Path(temporary)
        results.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(AT_A_TIME) as pool:
            phases = given.only or PHASES
            ended = {phase for phase in phases if _file(phase, results).exists()}
            running = {phase: pool.submit(_process, phase, wanted, results) for phase in phases}
            found = {phase: future.result() for phase, future in running.items()}
    broken = [phase for phase, result in found.items() if result is None]
    whole = {phase: result for phase, result in found.items() if result is not None}
    earlier = sum(whole[phase].seconds for phase in ended & whole.keys())
    page = page_of(whole, wanted, time.monotonic() - began, earlier)
    print(page.partition("<!-- figures -->")[2])
    if broken:
        print(f"Faults were found by: {', '.join(broken)}", file=sys.stderr)
        return 1
    if given.only and given.page is not None:
        print(f"{given.page} is as it was: not every phase ran.")
    elif given.page is not None:
        given.page.write_text(page)
    return 0


def _file(phase: str, directory: Path) -> Path:
    return directory / f"{phase}.json"


def _process(phase: str, wanted: Wanted, directory: Path) -> Found | None:
    """Run a phase in a process of its own; None when it found a fault, which is printed."""
    into = _file(phase, directory)
    if into.exists():
        return Found(**json.loads(into.read_text()))
    arguments = [
        "--phase",
        phase,
        "--into",
        str(into),
        "--seed",
        str(wanted.seed),
        "--length",
        str(wanted.length),
    ]
    ended = subprocess.run(
        [sys.executable, "-m", "tests.torture", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if ended.returncode:
        print(f"{phase}: a fault\n{ended.stdout}{ended.stderr}", flush=True)
        return None
    found = Found(**json.loads(into.read_text()))
    print(f"{phase}: held, {found.seconds:.0f} s", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(main())
