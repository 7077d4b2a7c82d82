"""Maxout by pencil."""

import numpy as np

from tf_adapt.layers.maxout import Maxout


def test_the_largest_of_each_unit_s_functions():
    layer = Maxout(2, pool=2)
    layer(np.zeros((1, 1), "float32"))
    # Functions of the first unit: x, −x; of the second: 2x + 1, 3.
    layer.dense.set_weights([np.array([[1.0, -1.0, 2.0, 0.0]]), np.array([0.0, 0.0, 1.0, 3.0])])
    found = layer(np.array([[2.0], [-5.0]], "float32"))
    np.testing.assert_array_equal(found, [[2.0, 5.0], [5.0, 3.0]])
