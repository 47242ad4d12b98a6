# SPDX-License-Identifier: Apache-2.0
"""One site, in a process of its own."""

import nvflare.client as flare
import torch
from net import Net, points

flare.init()
x, y = points(int(flare.get_site_name()[-1]))
model = Net()
while flare.is_running():
    received = flare.receive()
    if received is None:
        break
    model.load_state_dict({name: torch.as_tensor(value) for name, value in received.params.items()})
    for _ in range(20):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.sub_(0.2 * parameter.grad)
    print(f"loss {loss.item():.4f}", flush=True)
    params = {name: value.clone() for name, value in model.state_dict().items()}
    flare.send(
        flare.FLModel(params=params, metrics={"loss": loss.item()}, meta={"NUM_STEPS_CURRENT_ROUND": 20})
    )
