"""Test the multiclass support vector machine against its definition, one sample at a time."""

import numpy as np

from crowdml.models import Hinge

RNG = np.random.default_rng(4)


def test_definition() -> None:
    model = Hinge(n_features=3, n_classes=4, intercept=True)
    satisfied = violated = 0
    for _ in range(300):
        w = 2.0 * RNG.normal(size=(4, 4))
        x, y = RNG.normal(size=3), int(RNG.integers(0, 4))
        scores = [float(w[k, :3] @ x + w[k, 3]) for k in range(4)]
        rival = max((k for k in range(4) if k != y), key=lambda k: scores[k])
        loss = max(0.0, 1.0 + scores[rival] - scores[y])
        expected = np.zeros((4, 4))
        if loss > 0:
            expected[rival] += [*x, 1.0]
            expected[y] -= [*x, 1.0]
        flat = np.concatenate([w[:, :3].ravel(), w[:, 3]])
        args = flat, x[None, :], np.array([float(y)])
        assert np.isclose(model.losses(*args)[0], loss)
        wanted = np.concatenate([expected[:, :3].ravel(), expected[:, 3]])
        assert np.allclose(model.gradients(*args)[0], wanted)
        satisfied, violated = satisfied + (loss == 0), violated + (loss > 0)
    assert satisfied > 20
    assert violated > 20


def test_satisfied_margin_has_no_gradient() -> None:
    model = Hinge(n_features=1, n_classes=2)
    w, x = np.array([1.0, -1.0]), np.array([[1.0]])
    assert not model.gradients(w, x, np.array([0.0])).any()
    assert model.gradients(w, x, np.array([1.0])).tolist() == [[1.0, -1.0]]
