"""The screen alone: `python -m bench.screen [--quick] [--runs N]`; `python -m bench` measures everything."""

import argparse
from pathlib import Path

from bench.measure import print_table, write_json
from bench.screen.figures import screen_figures
from bench.screen.run import FULL, QUICK, measure_screen
from bench.screen.visits import Samples

RESULTS = Path("bench/results/screen.json")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs, for a try")
    parser.add_argument("--runs", type=int, help="runs of every row")
    arguments = parser.parse_args()
    plan = QUICK if arguments.quick else FULL
    samples = Samples()
    measure_screen(samples, plan._replace(runs=arguments.runs or plan.runs))
    figures = screen_figures(samples)
    print_table("The screen", figures)
    for failure in samples.failures:
        print(f"not measured: {failure}")
    write_json(RESULTS, {"The screen": figures}, samples.values)


if __name__ == "__main__":
    main()
