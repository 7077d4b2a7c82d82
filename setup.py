"""Packaging: what is installed, what it needs, and the `tf-adapt` command."""

import re
from pathlib import Path

from setuptools import find_packages, setup

PACKAGE = Path(__file__).parent / "tf_adapt" / "version.py"
README = Path(__file__).with_name("README.md")
# On the page of a package index, files of the project are not there: what a link says stays.
_RELATIVE_LINK = re.compile(r"!?\[([^\]]*)\]\((?!https?:)[^)]*\)")
# What only converting foreign weights needs; see CONTRIBUTING.md for the reason of each dependency.
CONVERT = ["h5py>=3.11", "keras-nlp>=0.20"]
# Encoders of keras-hub's layers.
KERAS_HUB = ["keras-hub>=0.32"]
# Handles of model hubs, by the hubs' own packages.
HUBS = ["huggingface-hub>=0.25", "kagglehub>=0.3"]
# Another engine for CPUs.
OPENVINO = ["openvino>=2025.0"]
INT8 = [*OPENVINO, "nncf>=3.0"]
# Exports that are read without TensorFlow: see requirements/light.txt.
LIGHT = [*OPENVINO, "tokenizers>=0.21"]
# Pooling comparisons by a random-effects model.
POOL = ["statsmodels>=0.14.2"]
# The search for settings.
SEARCH = ["optuna>=5,<6"]
# ROUGE and BLEU of written texts.
GENERATION = ["rouge-score>=0.1.2", "sacrebleu>=2.4,<3"]
# Runs as jobs of a Slurm cluster.
SLURM = ["submitit>=1.5,<2"]
# Runs as tasks of a Ray cluster.
RAY = ["ray>=2.50,<3"]
# The HTTP server.
SERVE = ["prometheus-client>=0.20", "starlette>=0.40", "uvicorn>=0.30,<1"]
DOCS = ["mkdocs>=1.6,<2", "mkdocs-click>=0.9", "mkdocs-material>=9.7", "mkdocstrings[python]>=1.0"]
NOTEBOOKS = ["ipykernel", "nbclient"]
TEST = [
    "jsonschema>=4",
    "pandas",
    "pytest>=8",
    "pytest-timeout",
    "pytest-xdist",
    "ruff",
    # The page in a browser: skipped where there is no chromium.
    "selenium>=4.20",
    "seqeval",
    *NOTEBOOKS,
]

setup(
    name="tf_adapt",
    version=re.search(r'__version__ = "(.+)"', PACKAGE.read_text("utf-8")).group(1),
    author="The tf_adapt authors",
    project_urls={"Paper": "https://arxiv.org/abs/1903.05987"},
    description="Freeze the pretrained model, tune it, or something in between?",
    long_description=_RELATIVE_LINK.sub(r"\1", README.read_text("utf-8")),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11,<3.14",
    packages=find_packages(include=["tf_adapt*", "hub_modules*"]),
    package_data={
        "tf_adapt": [
            "py.typed",
            "comparison/advice/*.json",
            "data/sample/*",
            "data/sample/*/*",
            "report/*.css",
            "serving/server/page/*",
        ],
        "hub_modules": ["py.typed", "pretrained/**/*"],
    },
    install_requires=[
        "click>=8.1",
        # tensorflow-datasets imports it and does not ask for it.
        "importlib_resources",
        "keras>=3.12",
        "matplotlib>=3.8",
        "pydantic>=2.7",
        "PyYAML>=6",
        "rich>=13",
        # Weights of folders in HuggingFace's format.
        "safetensors>=0.4",
        "scikit-learn>=1.4",
        "scipy>=1.11",
        # tensorflow-hub imports pkg_resources, which later versions no longer bring.
        "setuptools<81",
        # Summaries: TensorFlow no longer brings it.
        "tensorboard",
        "tensorflow>=2.18,<2.22",
        "tensorflow-datasets>=4.9.7",
        "tensorflow-hub>=0.16,<0.17",
        "tensorflow-text>=2.18,<2.22",
        # Probes run on one thread, for their products are small.
        "threadpoolctl>=3.1",
    ],
    extras_require={
        "convert": CONVERT,
        "generation": GENERATION,
        "hubs": HUBS,
        "keras-hub": KERAS_HUB,
        "int8": INT8,
        "light": LIGHT,
        "openvino": OPENVINO,
        "pool": POOL,
        "ray": RAY,
        "search": SEARCH,
        "serve": SERVE,
        "slurm": SLURM,
        "test": TEST + CONVERT + GENERATION + INT8 + LIGHT + POOL + SEARCH + SERVE + SLURM,
        # What a user would pick instead, for timing side by side.
        "bench": ["torch==2.13.0", "transformers>=5"],
        # The site: `make docs`.
        "docs": DOCS,
    },
    entry_points={"console_scripts": ["tf-adapt=tf_adapt.commands.main:run"]},
    classifiers=[
        "License :: OSI Approved :: Apache Software License",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Text Processing :: Linguistic",
        "Typing :: Typed",
    ],
)
