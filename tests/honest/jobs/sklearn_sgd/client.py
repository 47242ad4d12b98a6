import numpy as np
import nvflare.client as flare
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

flare.init()
site = int(flare.get_site_name().rsplit("-", 1)[1]) - 1
x, y = load_digits(return_X_y=True)
x, y = x[site::2] / 16, y[site::2]
xt, yt, x, y = x[:100], y[:100], x[100:], y[100:]
model = None
while flare.is_running():
    received = flare.receive()
    if received is None:
        break
    if received.current_round == 0:
        p = received.params
        model = SGDClassifier(
            loss=p["loss"],
            penalty=p["penalty"],
            fit_intercept=bool(p["fit_intercept"]),
            learning_rate=p["learning_rate"],
            eta0=0.01,
            max_iter=1,
            warm_start=True,
        )
    else:
        model.coef_ = received.params["coef"]
        model.intercept_ = received.params["intercept"]
    model.partial_fit(x, y, classes=np.arange(10))
    print("score", model.score(xt, yt))
    flare.send(
        flare.FLModel(
            params={"coef": model.coef_, "intercept": model.intercept_},
            params_type="FULL",
            metrics={"accuracy": float(model.score(xt, yt))},
            meta={"NUM_STEPS_CURRENT_ROUND": len(x)},
        )
    )
