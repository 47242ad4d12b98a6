import nvflare.client as flare
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

flare.init()
site = int(flare.get_site_name().rsplit("-", 1)[1]) - 1
x, y = load_breast_cancer(return_X_y=True)
x, y = StandardScaler().fit_transform(x)[site::2], y[site::2]
while flare.is_running():
    received = flare.receive()
    if received is None:
        break
    if received.current_round == 0:
        model = SVC().fit(x, y)
        params = {"support_x": x[model.support_], "support_y": y[model.support_]}
    else:
        params = {name: received.params[name] for name in ("support_x", "support_y")}
        model = SVC().fit(params["support_x"], params["support_y"])
    flare.send(flare.FLModel(params=params, params_type="FULL", metrics={"AUC": model.score(x, y)}))
