"""A model directory without weights: config.json and a tokenizer; the engine makes the weights up (dummy)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers

SPECIAL = ("<s>", "</s>", "<unk>")
_CHAT_TEMPLATE = "{% for m in messages %}{{ m['content'] }} {% endfor %}"


def write(config: Mapping[str, Any], folder: Path) -> None:
    """Write the directory. The tokenizer has one word per token ("t5 t99" <-> [5, 99]), so that a prompt of N tokens
    stays N tokens on every side; its size is the config's `vocab_size`."""
    folder.mkdir(parents=True, exist_ok=True)
    words = {word: number for number, word in enumerate(SPECIAL)}
    words |= {f"t{number}": number for number in range(len(SPECIAL), config["vocab_size"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.save(str(folder / "tokenizer.json"))
    _write_json(folder / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
        "chat_template": _CHAT_TEMPLATE, "clean_up_tokenization_spaces": False,
        "model_max_length": config.get("max_position_embeddings"),
    })  # fmt: skip
    _write_json(folder / "generation_config.json", {"bos_token_id": 0, "eos_token_id": 1})
    _write_json(folder / "config.json", config)


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(dict(value), indent=1, sort_keys=True) + "\n", encoding="utf-8")
