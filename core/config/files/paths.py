"""Paths of files on disk. Nothing is created here; the first writer creates the directory (0700)."""

import os
from dataclasses import dataclass
from pathlib import Path

from platformdirs import PlatformDirs

APP = "storyengine"
ENV_FILE = ".env"
"""Settings of the directory that the program is started in."""
ENCODING = "utf-8-sig"
"""Encoding of the files of settings: UTF-8, also with the mark (BOM) that some editors put before it."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The directories of one user: data, configuration, logs, and where chapters are put."""

    data: Path
    config: Path
    logs: Path
    downloads: Path

    @property
    def server(self) -> Path:
        """Home of the private PostgreSQL."""
        return self.data / "postgres"

    @property
    def models(self) -> Path:
        """Weights that were fetched on demand."""
        return self.data / "models"

    @property
    def backups(self) -> Path:
        """Copies of the database from before a backup was restored."""
        return self.data / "backups"

    @property
    def config_file(self) -> Path:
        """The GM's settings."""
        return self.config / "config.toml"

    @property
    def tries_file(self) -> Path:
        """Number of wrong passwords, and the time of the last."""
        return self.data / "password-tries.json"

    @property
    def early_text(self) -> Path:
        """Text typed during a start that ended before the chapter was open."""
        return self.data / "early-text"

    @property
    def unstored(self) -> Path:
        """Answers of models that the database did not take, until it does."""
        return self.data / "unstored"

    @property
    def consent_file(self) -> Path:
        """Addresses that the GM has opted in to."""
        return self.config / "consent.json"


def expanded(path: Path) -> Path:
    """Return a path with its `~` replaced; that of a user who does not exist stays, as in a shell."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def find_paths() -> Paths:
    """Return the platform's directories; `STORYENGINE_DATA_DIR` and `STORYENGINE_CONFIG_DIR` override."""
    dirs = PlatformDirs(APP, appauthor=False)
    data_override = os.environ.get("STORYENGINE_DATA_DIR")
    data = expanded(Path(data_override)).absolute() if data_override else dirs.user_data_path
    config_override = os.environ.get("STORYENGINE_CONFIG_DIR")
    config = expanded(Path(config_override)).absolute() if config_override else dirs.user_config_path
    logs = data / "logs" if data_override else dirs.user_log_path
    return Paths(data=data, config=config, logs=logs, downloads=dirs.user_downloads_path)
