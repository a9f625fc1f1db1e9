"""Which requests are read at which door, and in which versions."""

from onelog.protocols.fluvio.versions import CONTROLLER_APIS, CONTROLLER_PLATFORM, UNIT_APIS


def test_a_version_is_served_from_the_first_to_the_last() -> None:
    for api in (*CONTROLLER_APIS.values(), *UNIT_APIS.values()):
        served = [version for version in range(-2, 120) if api.serves(version)]
        assert served == list(range(api.version_min, api.version_max + 1))


def test_what_is_advertised_is_served() -> None:
    for api in (*CONTROLLER_APIS.values(), *UNIT_APIS.values()):
        assert api.advertised is None or api.serves(api.advertised)


def test_clients_go_on_after_they_have_seen_the_platform() -> None:
    assert tuple(map(int, CONTROLLER_PLATFORM.split("."))) >= (0, 9, 0)
