"""Learn through the mod in Flower's own simulation, with its own strategy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crowdml.flower import DirectionMod
from tests.simulation.toy import classes

pytest.importorskip("flwr", reason="Flower is an optional extra, of its own weight")
pytest.importorskip("ray", reason="Flower's simulation needs Ray")

CLIENTS, ROUNDS = 40, 3


# Flower and Ray warn about their own future changes.
@pytest.mark.filterwarnings("ignore")
def test_a_crowd_of_clients_learns(tmp_path: Path) -> None:
    from flwr.app import ArrayRecord, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    data = classes()
    mod = DirectionMod(8.0 * ROUNDS, ROUNDS, clipping_norm=1.0, folder=tmp_path)
    client, server, learnt = ClientApp(mods=[mod]), ServerApp(), []
    size = (data.x_train.shape[1], len(data.labels))

    @client.train()  # type: ignore[untyped-decorator]
    def train(message: Any, context: Any) -> Any:
        """Take one long step down the gradient of softmax."""
        mine = np.arange(len(data.y_train)) % CLIENTS == context.node_config["partition-id"]
        x, y = data.x_train[mine], data.y_train[mine].astype(int)
        (w,) = message.content["arrays"].to_numpy_ndarrays()
        odds = np.exp(x @ w)
        wrong = odds / odds.sum(axis=1, keepdims=True) - np.eye(size[1])[y]
        stepped = w - 100 * x.T @ wrong / len(x)
        return Message(RecordDict({"arrays": ArrayRecord([stepped])}), reply_to=message)

    @server.main()  # type: ignore[untyped-decorator]
    def main(grid: Any, context: Any) -> None:
        every = {"min_train_nodes": CLIENTS, "min_available_nodes": CLIENTS}
        strategy = FedAvg(fraction_evaluate=0.0, **every)
        start = ArrayRecord([np.zeros(size)])
        result = strategy.start(grid=grid, initial_arrays=start, num_rounds=ROUNDS)
        learnt.extend(result.arrays.to_numpy_ndarrays())

    run_simulation(server, client, num_supernodes=CLIENTS)
    (w,) = learnt
    wrong = (data.x_test @ w).argmax(axis=1) != data.y_test
    guessed = 1 - np.bincount(data.y_test.astype(int)).max() / len(data.y_test)
    assert wrong.mean() < guessed / 2
    ledgers = [mod.ledger(partition) for partition in range(CLIENTS)]
    assert [ledger.epsilon_per_person for ledger in ledgers] == pytest.approx(
        [8.0 * ROUNDS] * CLIENTS
    )
