# SPDX-License-Identifier: Apache-2.0
"""The federated job: FedAvg over a causal language model (SFT) or its adapters (PEFT)."""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean

import torch
from instructions import files, generate, texts
from model import exchanged, load_model, make_base, tokenized
from nvflare.recipe import SimEnv
from recipe import FORMATS, make_recipe
from tracking import TRACKERS
from transformers import DataCollatorForSeq2Seq, PreTrainedModel, Trainer, TrainingArguments

from rekindle.trainer import Evidence, Sites, make_parser
from rekindle.trainer.weights import measure_weights, read_global_model


def options() -> argparse.Namespace:
    parser = make_parser(__doc__)
    parser.add_argument("--model_name_or_path", default="", help="default: an untrained GPT-2")
    parser.add_argument("--data_path", type=Path, help="folder with a folder a site; default: generated")
    parser.add_argument("--train_mode", choices=["SFT", "PEFT"], default="SFT")
    parser.add_argument("--message_mode", choices=FORMATS, default="numpy")
    parser.add_argument("--quantize_mode", default="", help="float16 or adaquant; default: full precision")
    parser.add_argument("--tensor_stream", action="store_true", help="stream tensors one by one")
    parser.add_argument("--lr_scheduler", default="constant")
    parser.add_argument("--learning_rate", type=float, default=1e-3)
    parser.add_argument("--batch_size", type=int, default=32, help="of one rank")
    parser.add_argument("--use_tracking", nargs="*", choices=TRACKERS, help="alone: tensorboard")
    parser.add_argument("--wandb_project", default="rekindle", help="name in W&B and of MLflow's experiment")
    args = parser.parse_args()
    if args.use_tracking is None:
        args.use_tracking = ()
    elif not args.use_tracking:
        args.use_tracking = TRACKERS[:1]
    return args


def main() -> None:
    args = options()
    sites = Sites(args.client_ids, args.gpu)
    data = args.data_path or Path("data").absolute()
    if args.data_path is None:
        for name in sites.names:
            generate(data, name)
    data_files = {name: files(data, name) for name in sites.names}
    base = args.model_name_or_path or str(Path("base").absolute())
    torch.manual_seed(0)
    if not args.model_name_or_path:
        corpus = [text for of_site in data_files.values() for text in texts(of_site)]
        make_base(Path(base), corpus, full_size=sites.on_gpu)

    model = load_model(base, args.train_mode)
    weights = exchanged(model)
    checkpoint = Path("initial.pt").absolute()
    torch.save({name: tensor.detach() for name, tensor in weights.items()}, checkpoint)
    recipe = make_recipe(args, sites, base, data, checkpoint)
    recipe.execute(SimEnv(clients=sites.names, workspace_root="workspace"))

    final = read_global_model("llm_sft")
    for name, tensor in weights.items():
        tensor.data.copy_(final[name])
    Evidence("job").final(
        final,
        metrics={"eval_loss": mean(loss(model, base, of_site) for of_site in data_files.values())},
        model_bytes=measure_weights(dict(model.named_parameters())),
    )


def loss(model: PreTrainedModel, base: str, data_files: dict[str, str]) -> float:
    """Return the mean loss on a site's validation data."""
    data, tokenizer = tokenized(data_files, base)
    how = TrainingArguments(output_dir="trainer", use_cpu=True, report_to="none", disable_tqdm=True)
    collator = DataCollatorForSeq2Seq(tokenizer)
    return Trainer(model, how, collator, eval_dataset=data["validation"]).evaluate()["eval_loss"]


if __name__ == "__main__":
    main()
