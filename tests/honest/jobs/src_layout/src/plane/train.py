# SPDX-License-Identifier: Apache-2.0
"""One site."""

import nvflare.client as flare
import torch

from plane.net import Plane, points


def main():
    flare.init()
    x, y = points(int(flare.get_site_name()[-1]))
    model = Plane()
    while flare.is_running():
        model.load_state_dict(flare.receive().params)
        for _ in range(20):
            loss = torch.nn.functional.mse_loss(model(x), y)
            model.zero_grad()
            loss.backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.sub_(0.03 * parameter.grad)
        print(f"loss {loss.item():.4f}")
        params = {name: value.clone() for name, value in model.state_dict().items()}
        flare.send(
            flare.FLModel(params=params, metrics={"loss": loss.item()}, meta={"NUM_STEPS_CURRENT_ROUND": 20})
        )


if __name__ == "__main__":
    main()
