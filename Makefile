# Two commands on a fresh machine: make site, make test.
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
unexport PYTHONDONTWRITEBYTECODE # hundreds of starts import Ansible here
WITH_INDEXES := PYTHONPATH=src $(BIN)/python -m rekindle.environments.indexes

.PHONY: all site test units long faults mutations examples doctor docs pictures lint locks clean reproduce-tf hosts molecule lab-up lab-site lab-federate lab-ssh lab-down slurm-up slurm-site slurm-ssh slurm-down

all: .venv/.done

# The first of these that fits makes .venv; PYTHON=… names another.
PYTHONS := $(or $(PYTHON),python3.14 python3.13 python3.12 python3.11 python3)
FITS := import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 15))
NONE := Rekindle needs a Python from 3.11 to 3.14 with its venv, and none of these is one: $(PYTHONS). \
	Fix: install one (Debian, Ubuntu: apt install python3-venv), or name one: make PYTHON=/path/to/python3

.venv/.done: requirements/controller.txt requirements/uv.txt pyproject.toml
	@for python in $(if $(PYTHON),,$(BIN)/python) $(PYTHONS); do \
		if $$python -c '$(FITS)' 2>/dev/null; then \
			test $$python = $(BIN)/python || $$python -m venv --clear .venv; exit; \
		fi; \
	done; echo '$(NONE)' >&2; exit 1
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/uv.txt
	$(WITH_INDEXES) $(BIN)/uv pip sync --quiet --require-hashes --python $(BIN)/python requirements/controller.txt
	$(WITH_INDEXES) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python --editable .
	touch $@

site: all
	ansible-playbook site.yml -i inventories/local

# What a newcomer waits for: linters, and beside them unit tests and one site.yml.
test: all
	$(MAKE) --no-print-directory --jobs lint units

units: all
	pytest -n 6 --timeout 600 tests/unit tests/site/test_site.py

# Everything else: faults, mutations, attacks, the other jobs on CPU and, as root, real hosts; about an hour.
# PART=0/5 is a fifth of its files.
PART ?= 0/1

long: all
	pytest -n 3 --part $(PART) --ways 1 --every 8 --durations 20 --durations-min 60 tests/faults tests/honest tests/lies tests/hosts tests/mutations tests/places tests/site --ignore tests/site/test_site.py

# Every fault of tests/faults, and a table of what came of each; results/faults.json has the same.
faults: all
	pytest -q --tb=line tests/faults

# Every mutation of tests/mutations in two recorded runs, and damage to every file; `make long` has an eighth of that.
# SEED chooses other places.
SEED ?= rekindle

mutations: all
	pytest -q -n 2 tests/mutations --seed $(SEED)

# NVFlare's own examples on this machine, from a checkout: make examples CHECKOUT=/data/NVFlare. benchmarks/examples.md is the board.
CHECKOUT ?=

examples: all
	ansible-playbook site.yml -i inventories/local \
		-e '{"rekindle_jobs": ["examples/all"], "rekindle_nvflare_checkout": "$(CHECKOUT)"}'

# How often the doctor is right on failures of the field: layer and remedy, as a reader would count.
doctor: all
	PYTHONPATH=src:tests $(BIN)/python benchmarks/doctor.py

# The site of docs/, in docs/_build; offline once its packages are there.
docs: .venv/.docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --fresh-env --write-all \
		--doctree-dir docs/_build/doctrees docs docs/_build/html

.venv/.docs: requirements/docs.txt .venv/.done
	$(WITH_INDEXES) $(BIN)/uv pip install --quiet --require-hashes --python $(BIN)/python --requirements requirements/docs.txt
	touch $@

# README's pictures, from recorded results with today's code; needs Chromium.
pictures: all
	PYTHONPATH="$(CURDIR)/src:$(CURDIR)/tests:$(CURDIR)/tests/unit" $(BIN)/python scripts/write_pictures.py

# Named, as ansible-lint would look at every file of the repository to find them.
OF_ANSIBLE := $(wildcard *.yml) playbooks roles molecule inventories contrib meta .config .ansible-lint \
	$(addprefix plugins/,action callback lookup modules)

lint: all
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/python scripts/check_names.py src/rekindle
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/yamllint --strict .
	ANSIBLE_COLLECTIONS_PATH=collections ansible-lint --offline -q $(OF_ANSIBLE)

# Reads the package indexes; the other targets install only what the locks name.
locks: all
	$(WITH_INDEXES) $(BIN)/python scripts/lock_controller.py
	$(WITH_INDEXES) $(BIN)/python scripts/make_locks.py

# Never results/, which is all that is left of a lease.
clean:
	rm -rf .venv .ansible .hypothesis .mypy_cache .pytest_cache .ruff_cache
	-git clean --quiet --force -dX docs
	find . -path ./results -prune -o -name __pycache__ -prune -exec rm -rf {} +

# Two GPUs: TensorFlow inside NVFlare as it seems to deadlock, and as it passes.
reproduce-tf: all
	for stage in preflight plan environments; do \
		ansible-playbook playbooks/$$stage.yml -i inventories/local \
			-e rekindle_gpus_required=true -e '{"rekindle_jobs": [tf_mirrored]}' \
			-e rekindle_results=results/reproduce-tf || exit 1; \
	done
	$(BIN)/python scripts/reproduce_tf.py results/reproduce-tf/local

# The tests on real hosts that they make on this machine, as root.
hosts: all
	pytest tests/hosts

# Real hosts on this machine, as root (tests/lab): make lab-up HOSTS=2, lab-site, lab-federate, lab-ssh HOST=lab-1, lab-down.
HOSTS ?= 2
HOST ?= lab-1
LAB := PYTHONPATH=src:tests $(BIN)/python -m lab

lab-up: all
	$(LAB) up $(HOSTS)

lab-site: all
	$(LAB) wheels
	ansible-playbook site.yml -i /var/lib/rekindle-lab/lab/hosts.yml

lab-federate: all
	$(LAB) wheels
	ansible-playbook federate.yml -i /var/lib/rekindle-lab/lab/hosts.yml

lab-ssh: all
	@$(LAB) ssh $(HOST)

lab-down: all
	$(LAB) down

# A SLURM cluster on this machine, as root: make slurm-up, slurm-site, slurm-ssh NODE=n9, slurm-down.
NODE ?= login

slurm-up: all
	$(LAB) --lab slurm slurm

slurm-site: all
	$(LAB) --lab slurm wheels
	ansible-playbook site.yml -i /var/lib/rekindle-lab/slurm/hosts.yml

slurm-ssh: all
	@$(LAB) --lab slurm ssh $(NODE)

slurm-down: all
	$(LAB) --lab slurm down

# Scenarios on such hosts, in the order in which a host goes through them: nothing is prepared twice.
molecule: all
	REKINDLE_PREPARE=none molecule test --scenario-name plan --scenario-name site --scenario-name federate --scenario-name retire
