# SPDX-License-Identifier: Apache-2.0
"""What NVFlare's server and clients import: the exchanged weights, and complete tensors for filters."""

from __future__ import annotations

from typing import Any

import torch
from nvflare.apis.dxo import DXO, DataKind
from nvflare.apis.dxo_filter import DXOFilter
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.fuel.utils import fobs
from torch import Tensor, nn


class ExchangedWeights(nn.Module):
    """The server's model: the exchanged tensors by name, without the network around them."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.weights: dict[str, Tensor] = torch.load(path, weights_only=True)

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Tensor]:
        return self.weights

    def load_state_dict(self, weights: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        self.weights = {name: torch.as_tensor(value) for name, value in weights.items()}


class WholeTensors(DXOFilter):
    """Brings into the client's process the tensors that NVFlare 2.7 passes through it as references.

    Between server and external trainer a client forwards references alone, which a quantiser or a tensor
    streamer there cannot work on (``'LazyDownloadRef' object has no attribute 'nbytes'``).
    """

    def __init__(self) -> None:
        super().__init__([DataKind.WEIGHTS, DataKind.WEIGHT_DIFF], [DataKind.WEIGHTS, DataKind.WEIGHT_DIFF])

    def process_dxo(self, dxo: DXO, shareable: Shareable, fl_ctx: FLContext) -> DXO:
        here = (
            fl_ctx.get_engine().get_cell().get_fobs_context(props={fobs.FOBSContextKey.PASS_THROUGH: False})
        )
        dxo.data, dxo.meta = fobs.loads(fobs.dumps([dxo.data, dxo.meta]), fobs_ctx=here)
        return dxo
