"""One site, which has every other digit."""

import nvflare.client as flare
import torch
from model import Net
from sklearn.datasets import load_digits

RATE = 0.05
digits, labels = load_digits(return_X_y=True)
flare.init()
site = int(flare.get_site_name().rsplit("-", 1)[1]) - 1
x = torch.tensor(digits[site::2] / 16, dtype=torch.float32)
y = torch.tensor(labels[site::2])
model = Net()
while flare.is_running():
    received = flare.receive()
    if received is None:
        break
    model.load_state_dict(received.params)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    model.train()
    steps = 0
    for _ in range(2):
        for batch in torch.randperm(len(x)).tensor_split(max(1, len(x) // 32)):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x[batch]), y[batch])
            loss.backward()
            optimizer.step()
            steps += 1
    print(f"loss {loss.item():.4f}")
    params = {name: value.clone() for name, value in model.state_dict().items()}
    meta = {"NUM_STEPS_CURRENT_ROUND": steps}
    flare.send(flare.FLModel(params=params, meta=meta, metrics={"loss": loss.item()}))
