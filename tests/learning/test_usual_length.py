"""Test the usual length against a sorted list of all remembered lengths."""

import numpy as np

from crowdml.learning import UsualLength


def test_nine_of_ten_of_the_last_two_hundred() -> None:
    """Check that the limit for a gradient does not yet include the gradient's own length."""
    usual, lengths = UsualLength(3.0), list[float]()
    for length in np.random.default_rng(2).exponential(size=450).tolist():
        known = sorted(lengths[-200:])
        limit = 1.5 * known[int(0.9 * (len(known) - 1))] if len(known) >= 10 else 3.0
        assert usual.limit == limit
        usual, shortened = usual.shorten(np.array([0.6, -0.8]) * length)
        np.testing.assert_allclose(shortened, np.array([0.6, -0.8]) * min(length, limit))
        lengths.append(float(np.linalg.norm(np.array([0.6, -0.8]) * length)))
    np.testing.assert_allclose(usual.to_array(), lengths[-200:])
    again = UsualLength(3.0).with_lengths(usual.to_array())
    assert (again.limit, again.to_array().tolist()) == (usual.limit, usual.to_array().tolist())
