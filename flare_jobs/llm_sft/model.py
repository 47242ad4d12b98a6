# SPDX-License-Identifier: Apache-2.0
"""The causal language model, its tokenizer and what of it the sites exchange."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from datasets import DatasetDict, load_dataset
from peft import LoraConfig, PeftModel, get_peft_model
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

LONGEST = 128
"""Tokens of an example; longer ones are cut."""


def make_base(folder: Path, texts: Iterable[str], *, full_size: bool) -> None:
    """Save an untrained GPT-2 and a tokenizer of ``texts`` in ``folder``, for ``--model_name_or_path``.

    Args:
        folder: where to.
        texts: what the tokenizer is trained on.
        full_size: GPT-2's own 124 million parameters, or 3.5 million.
    """
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bpe.train_from_iterator(
        texts,
        trainers.BpeTrainer(vocab_size=1024, special_tokens=["<pad>", "<end>"], initial_alphabet=alphabet),
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, pad_token="<pad>", eos_token="<end>")
    small = {"vocab_size": 1024, "n_positions": LONGEST, "n_embd": 256, "n_layer": 4, "n_head": 4}
    size = {} if full_size else small
    ends = {"bos_token_id": tokenizer.eos_token_id, "eos_token_id": tokenizer.eos_token_id}
    GPT2LMHeadModel(GPT2Config(**size, **ends)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def load_model(name_or_path: str, train_mode: str) -> PreTrainedModel | PeftModel:
    """Return the model in float32, with LoRA adapters on it for ``PEFT``."""
    model = AutoModelForCausalLM.from_pretrained(name_or_path, dtype="float32")
    if train_mode == "PEFT":
        adapters = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
        return get_peft_model(model, adapters)
    return model


def exchanged(model: PreTrainedModel | PeftModel) -> dict[str, Tensor]:
    """Return the tensors that train, which go between site and server: all weights once, or the adapters."""
    return {name: tensor for name, tensor in model.named_parameters() if tensor.requires_grad}


def tokenized(data_files: dict[str, str], name_or_path: str) -> tuple[DatasetDict, Any]:
    """Return the data with input_ids and labels (-100 where it is the prompt), and the tokenizer."""
    tokenizer = AutoTokenizer.from_pretrained(name_or_path)

    def encode(example: dict[str, str]) -> dict[str, list[int]]:
        prompt = tokenizer(example["prompt"])["input_ids"]
        completion = [*tokenizer(example["completion"])["input_ids"], tokenizer.eos_token_id]
        labels = [-100] * len(prompt) + completion
        return {"input_ids": (prompt + completion)[:LONGEST], "labels": labels[:LONGEST]}

    data = load_dataset("json", data_files=data_files)
    return data.map(encode, remove_columns=data["training"].column_names), tokenizer
