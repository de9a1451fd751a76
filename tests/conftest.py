"""Settings of every test: one thread per process, strict promotion, no windows, unhurried hypothesis."""

import os
import sys
from pathlib import Path

# Before JAX is imported: pytest-xdist already keeps the cores busy, so threads inside a test only fight over them.
# Compiling is most of what the tests do, so it is done without the optimiser.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1 --xla_backend_optimization_level=0 "
    "--xla_cpu_parallel_codegen_split_count=1",
)
os.environ.setdefault("MPLBACKEND", "Agg")

import hypothesis
import jax
import pytest

from sadapt.registry import IMPORTED, TABLES

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

hypothesis.settings.register_profile("quick", deadline=None, max_examples=25)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("quick")


def pytest_collection_modifyitems(items):
    """The longest tests first, so that no worker is left alone with one of them."""
    items.sort(key=lambda item: item.path.stem not in ("test_kill", "test_sweep"))


@pytest.fixture(autouse=True, scope="session")
def shared_programs(tmp_path_factory, worker_id):
    """Compiled programs are kept for the session and shared by its processes: most tests run what others ran."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "programs"
    jax.config.update("jax_compilation_cache_dir", str(folder))
    os.environ["SADAPT_CACHE"] = str(folder / "started")
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    return folder


@pytest.fixture
def examples(monkeypatch):
    """The folder of examples as the current one; the parts of its modules are as if never there afterwards."""
    folder = Path(__file__).parent.parent / "examples"
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    before = {kind: dict(table) for kind, table in TABLES.items()}
    yield folder
    for kind, table in before.items():
        TABLES[kind].clear()
        TABLES[kind].update(table)
    IMPORTED.clear()
    for name in [name for name in sys.modules if (folder / name.partition(".")[0]).is_dir()]:
        del sys.modules[name]
