"""The names of encoders in analyses: as short as tell them apart."""

from tf_adapt.analysis.layers import labelled


def series(handle="a/model", module_hash="a", run=None, seed=None, **encoder):
    adaptation = None if run is None else "fine_tuning"
    about = {"module": handle.split("/")[-1], "handle": handle, "module_hash": module_hash}
    about |= {"run": run, "adaptation": adaptation, "seed": seed}
    return about | {"encoder": {"pretrained": True, "prompts": None, "keep_layers": None} | encoder}


def labels_of(*several):
    (panel,) = labelled([{"series": list(several)}])
    return [one["label"] for one in panel["series"]]


def test_settings_of_an_encoder_are_named_where_they_differ():
    prompted = [series(prompts=["query: "], keep_layers=layers) for layers in (None, [0, 2])]
    assert labels_of(series(), *prompted) == [
        "pretrained",
        'pretrained, prompts ["query: "]',
        'pretrained, prompts ["query: "], keep_layers [0, 2]',
    ]
    assert labels_of(series(prompts=["query: "])) == ["pretrained"]


def test_modules_of_one_name_are_named_by_their_handles():
    assert labels_of(series(), series("b/model", "b"), series("c/other", "c")) == [
        "a/model, pretrained",
        "b/model, pretrained",
        "other, pretrained",
    ]


def test_runs_are_named_by_seed_then_folder():
    runs = [series(run=f"runs/{name}", seed=seed) for name, seed in (("x", 0), ("y", 0), ("z", 1))]
    assert labels_of(*runs) == [
        "fine_tuning, seed 0, run runs/x",
        "fine_tuning, seed 0, run runs/y",
        "fine_tuning, seed 1",
    ]
