import nvflare.client as flare
from sklearn.cluster import MiniBatchKMeans, kmeans_plusplus
from sklearn.datasets import load_digits
from sklearn.metrics import homogeneity_score

flare.init()
site = int(flare.get_site_name().rsplit("-", 1)[1]) - 1
x, y = load_digits(return_X_y=True)
x, y = x[site::2] / 16, y[site::2]
while flare.is_running():
    received = flare.receive()
    if received is None:
        break
    if received.current_round == 0:
        params, metrics = {"center": kmeans_plusplus(x, n_clusters=10)[0], "count": None}, None
    else:
        model = MiniBatchKMeans(10, init=received.params["center"], batch_size=len(x), max_iter=1, n_init=1)
        model.fit(x)
        params = {"center": model.cluster_centers_, "count": model._counts}
        metrics = {"homogeneity": homogeneity_score(y, model.predict(x))}
    flare.send(flare.FLModel(params=params, params_type="FULL", metrics=metrics))
