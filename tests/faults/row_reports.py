# SPDX-License-Identifier: Apache-2.0
"""What tests report as they end, for a table of all of them; it comes from pytest-xdist's workers too."""


class Reported:
    """A plugin of pytest: its ``rows`` are the lists that tests record by `record_property` as ``name``."""

    def __init__(self, name):
        self._name = name
        self.rows = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            for name, told in report.user_properties:
                if name == self._name:
                    self.rows += told
