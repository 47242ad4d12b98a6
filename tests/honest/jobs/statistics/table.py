"""Two columns with a value that is missing."""

import numpy as np
from nvflare.app_common.abstract.statistics_spec import DataType, Feature, Statistics


class Table(Statistics):
    def initialize(self, fl_ctx):
        numbers = np.random.default_rng(int(fl_ctx.get_identity_name().rsplit("-", 1)[1]))
        self.columns = {"age": numbers.normal(50, 10, 200), "dose": numbers.uniform(0, 5, 200)}
        self.columns["dose"][0] = np.nan

    def features(self):
        return {"train": [Feature(name, DataType.FLOAT) for name in self.columns]}

    def count(self, dataset, feature):
        return int(np.isfinite(self.columns[feature]).sum())

    def sum(self, dataset, feature):
        return float(np.nansum(self.columns[feature]))

    def mean(self, dataset, feature):
        return float(np.nanmean(self.columns[feature]))
