"""docker-compose.yml against the published schema, and against what we promise of it. No engine is needed."""

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from core.config.sections import Profiles

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
PROFILES = set(Profiles.model_fields)
GUARDED = ("staging", "production")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded = YAML(typ="safe", pure=True).load(COMPOSE)
    assert isinstance(loaded, dict)
    return loaded


def in_profile(compose: dict[str, Any], profile: str) -> dict[str, Any]:
    return {name: service for name, service in compose["services"].items() if profile in service["profiles"]}


def volumes_of(services: dict[str, Any]) -> set[str]:
    """Return the named volumes; a path, which begins with a dot or a variable, is none."""
    sources = {
        str(mount).split(":")[0] for service in services.values() for mount in service.get("volumes", ())
    }
    return {source for source in sources if source[0] not in "./$"}


def networks_of(services: dict[str, Any]) -> set[str]:
    return {name for service in services.values() for name in service["networks"]}


def secrets_of(service: dict[str, Any]) -> dict[str, str]:
    """Return the source of each secret, by the name of the file that the service reads."""
    used = [
        secret if isinstance(secret, dict) else {"source": secret, "target": secret}
        for secret in service.get("secrets", ())
    ]
    return {secret["target"]: secret["source"] for secret in used}


def variables_of_secrets(compose: dict[str, Any], services: dict[str, Any]) -> set[str]:
    """Return the variables that the secrets of these services come from."""
    sources = {source for service in services.values() for source in secrets_of(service).values()}
    return {compose["secrets"][source]["environment"] for source in sources}


def test_the_file_keeps_to_the_published_schema() -> None:
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--builtin-schema",
        "vendor.compose-spec",
        str(COMPOSE),
    ]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_service_belongs_to_one_profile(compose: dict[str, Any]) -> None:
    assert all(len(service["profiles"]) == 1 for service in compose["services"].values())
    assert {
        profile for service in compose["services"].values() for profile in service["profiles"]
    } == PROFILES


@pytest.mark.parametrize("pair", itertools.combinations(sorted(PROFILES), 2), ids="-".join)
def test_the_profiles_share_no_data_no_network_and_no_secret(
    compose: dict[str, Any], pair: tuple[str, str]
) -> None:
    one, other = (in_profile(compose, profile) for profile in pair)
    assert not volumes_of(one) & volumes_of(other)
    assert not networks_of(one) & networks_of(other)
    assert not variables_of_secrets(compose, one) & variables_of_secrets(compose, other)


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_each_profile_starts_the_application_with_its_settings_and_its_database(
    compose: dict[str, Any], profile: str
) -> None:
    services = in_profile(compose, profile)
    (application,) = [name for name in services if name.startswith("app")]
    (database,) = [name for name in services if name.startswith("postgres")]
    environment = services[application]["environment"]
    assert environment["STORYENGINE_PROFILE"] == profile
    assert environment["STORYENGINE_DATABASE_URL"] == f"postgresql://storyengine@{database}/storyengine"
    assert set(services[application]["networks"]) & set(services[database]["networks"])


def test_the_application_opens_the_screen_where_no_command_is_given(compose: dict[str, Any]) -> None:
    applications = [service for name, service in compose["services"].items() if name.startswith("app")]
    assert all("command" not in service and service["tty"] for service in applications)
    assert (ROOT / "Dockerfile").read_text("utf-8").rstrip().endswith("\nCMD []")


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_each_profile_has_a_healthy_database_before_the_application(
    compose: dict[str, Any], profile: str
) -> None:
    services = in_profile(compose, profile)
    databases = {name for name, service in services.items() if "POSTGRES_DB" in service["environment"]}
    assert len(databases) == 1
    (database,) = databases
    assert services[database]["image"] == "postgres:18"
    assert "pg_isready" in services[database]["healthcheck"]["test"]
    # From version 18 on, the image keeps its data one directory higher.
    assert any(mount.endswith(":/var/lib/postgresql") for mount in services[database]["volumes"])
    for name, service in services.items():
        if name != database:
            assert service["depends_on"] == {database: {"condition": "service_healthy"}}


@pytest.mark.parametrize("profile", GUARDED)
def test_staging_and_production_publish_no_port_and_keep_their_database_inside(
    compose: dict[str, Any], profile: str
) -> None:
    services = in_profile(compose, profile)
    assert not any("ports" in service for service in services.values())
    (database,) = [service for name, service in services.items() if name.startswith("postgres")]
    assert [compose["networks"][network] for network in database["networks"]] == [{"internal": True}]


def test_the_local_database_listens_to_this_machine_only(compose: dict[str, Any]) -> None:
    ports = compose["services"]["postgres-local"]["ports"]
    assert all(port.startswith("127.0.0.1:") for port in ports)


@pytest.mark.parametrize("profile", GUARDED)
def test_staging_and_production_take_every_secret_from_the_environment(
    compose: dict[str, Any], profile: str
) -> None:
    assert all(set(secret) == {"environment"} for secret in compose["secrets"].values())
    for service in in_profile(compose, profile).values():
        read = {
            value for name, value in service["environment"].items() if "PASSWORD" in name or "API_KEY" in name
        }
        assert read == {f"/run/secrets/{target}" for target in secrets_of(service)}
        assert all(name.endswith("_FILE") for name, value in service["environment"].items() if value in read)


def test_production_is_dumped_every_day_and_kept_for_a_week_at_least(compose: dict[str, Any]) -> None:
    backup = in_profile(compose, "production")["backup"]
    assert backup["image"] == compose["services"]["postgres"]["image"]
    assert backup["command"] == ["daily"]
    assert backup["restart"] == "unless-stopped"
    assert backup["healthcheck"]["test"][-1] == "check"
    default = backup["environment"]["BACKUP_KEEP_DAYS"].partition(":-")[2].rstrip("}")
    assert int(default) >= 7
    assert "backups:/backups" in backup["volumes"]


def test_every_file_that_it_mounts_or_builds_is_there(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        mounts = [str(mount).split(":")[0] for mount in service.get("volumes", ())]
        assert all((ROOT / source).is_file() for source in mounts if source.startswith("./"))
        if "build" in service:
            assert (ROOT / service["build"] / "Dockerfile").is_file()


def test_everything_that_the_image_copies_is_let_through() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = [
        word
        for line in lines
        if line.startswith("COPY") and "--from" not in line
        for word in line.split()[1:-1]
    ]
    for source in copied:
        if not source.startswith("--"):
            assert (ROOT / source).exists()
            assert any(Path(source.split("/")[0]).match(line[1:]) for line in ignored if line.startswith("!"))
