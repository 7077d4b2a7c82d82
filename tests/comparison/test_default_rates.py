"""The learning rates of a comparison that names none, by the family of a module."""

from tf_adapt.comparison.plan.default_rates import RATES, default_rates, family_of

FAMILIES = [
    ("elmo_small", "elmo"),
    ("bert_small", "bert"),
    ("https://tfhub.dev/google/elmo/3", "elmo"),
    ("https://tfhub.dev/tensorflow/bert_en_uncased_L-12_H-768_A-12/4", None),
    ("no/such/folder", None),
]


def test_the_family_of_a_handle():
    for handle, family in FAMILIES:
        assert family_of(handle) == family
        expected = RATES[family or "bert"]["default"]
        assert default_rates(handle, "fine_tuning") == list(expected)


def test_a_tf1_module_is_an_elmo(tmp_path):
    (tmp_path / "tfhub_module.pb").write_bytes(b"\x08\x03")
    assert family_of(str(tmp_path)) == "elmo"
