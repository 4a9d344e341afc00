"""No keyring but the one a test names: what the machine has, or another test brings along, is not asked."""

from __future__ import annotations

from collections.abc import Iterator

import keyring.backends.fail
import pytest

from tests.control.provider.credentials.keyrings import using


@pytest.fixture(autouse=True)
def _no_keyring() -> Iterator[None]:
    with using(keyring.backends.fail.Keyring()):
        yield
