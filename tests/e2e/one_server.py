"""The program, which looks for model servers at one port alone, and longer than it does by itself."""

import os

import core.providers.discovery
from storyengine_tui import cli

PORT = "ONE_SERVER_PORT"
"""The variable that names the port."""
SECONDS = 30.0


def main() -> None:
    find = core.providers.discovery.find_servers
    server = core.providers.discovery.ServerKind("Jan", int(os.environ[PORT]))
    find.__defaults__, find.__kwdefaults__ = ((server,),), {"seconds": SECONDS}
    cli.main()
