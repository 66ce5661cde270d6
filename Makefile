# Thin on purpose: each target calls one program of tools/ in the course's environment.
PYTHON ?= python3
# nbgrader calls alembic, and Jupyter its subcommands, by name: hence the PATH.
PY := PATH="$(CURDIR)/.venv/bin:$$PATH" .venv/bin/python
# One thread a process: chapters and tests run side by side, and results repeat.
export OMP_NUM_THREADS ?= 1
export PYTHONDONTWRITEBYTECODE ?= 1
# What `make train` trains: a configuration of translator/configs/.
CONFIG ?= tiny

.PHONY: help env book pdf test test-deploy check release unchanged claims lab library exercises student-edition grade train de-en de-en-cpu captions train-gpu bench mutants lock clean

help:      ## list the targets
	@grep -E '^[a-z-]+: .*##' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

env:       ## create or refresh the environment (.venv) for all, or for EXTRAS="read do"
	@$(PYTHON) tools/bootstrap.py $(EXTRAS)

# Each target installs what it needs, and leaves what is there: env-read-do is EXTRAS="read do".
env-%:
	@$(PYTHON) tools/bootstrap.py $(subst -, ,$*)

book: env-read  ## execute the chapters and build the website
	@$(PY) -m tools.build_book

pdf: env-read-check  ## the website, and the book as one PDF that it links (needs Chromium)
	@$(PY) -m tools.pdf

check: env ## the fast checks, for each edit
	@$(PY) -m tools.run_tests --fast

test: env  ## everything: lint, book, notebooks, library, exercises, a class graded, browsers; ANEW=1: also what has not changed since it passed
	@$(PY) -m tools.run_tests $(if $(ANEW),--anew)

unchanged: env  ## run the tests of what seldom changes where it has; writes tests/unchanged.json
	@$(PY) -m tools.run_tests --unchanged

release: env ## all of make test, fresh claims, version and changelog that agree
	@$(PY) -m tools.run_tests --release

claims: env-read-check ## run the experiments behind the chapters' claims: CHAPTER=01, CLAIM=id, SEEDS=101-110, JOBS=2
	@$(PY) -m tools.claims $(if $(CHAPTER),--chapter $(CHAPTER)) $(if $(CLAIM),--claim $(CLAIM)) \
		$(if $(SEEDS),--seeds $(SEEDS)) $(if $(JOBS),--jobs $(JOBS))

test-deploy: env  ## the hub of deploy/, for real: as root, installs deploy/.venv and its proxy
	@$(MAKE) -C deploy install
	@COURSE_HUB=1 $(PY) -m pytest -p no:xdist tests/deploy

lab: env-do ## open JupyterLab on the exercises; STAFF=1: on the whole course, with nbgrader's panels
	@$(PY) -m tools.lab $(if $(STAFF),--staff)

library: env-do ## write transformer/ from the chapters' cells tagged `export`
	@$(PY) -m tools.export_library

exercises: env-do ## write exercises/ from solutions/
	@$(PY) -m tools.exercises

student-edition: env-do ## write what students get, no answers in it: make student-edition OUT=../students
	@$(PY) -m tools.student_edition $(OUT)

grade: env-grade ## grade submitted/: make grade ASSIGNMENT=02
	@$(PY) -m grading run $(ASSIGNMENT)

bench: env-read-translate-grade-check ## beside others' code: attention, the translators, grading; PEERS=10: also 10-minute training runs (DATA=folder); CLASS=500: also a class of 500; LIGHTHOUSE=1: also the pages' speed (needs Chromium)
	@$(PY) -m tools.bench
	@$(PY) -m translator bench --ctranslate2
	@$(PY) -m benchmarks.live
	@$(if $(LIGHTHOUSE),$(PY) -m benchmarks.lighthouse)
	@$(PY) -m benchmarks.grading
	@$(if $(CLASS),$(PY) -m benchmarks.large_class --students $(CLASS))
	@$(if $(PEERS),$(PY) -m benchmarks.translator --minutes $(PEERS) $(if $(DATA),--data-dir $(DATA)))

mutants: env-grade ## wrong answers made by rule that no test catches; writes tests/mutants.json (CHANGED=1: of changed tasks)
	@$(PY) -m tests.harness.mutants --record tests/mutants.json $(if $(CHANGED),--changed)

train: env-translate ## train a translator: make train CONFIG=small (DATA=folder with the corpora)
	@$(PY) -m translator prepare --config $(CONFIG) $(if $(DATA),--data-dir $(DATA))
	@env -u OMP_NUM_THREADS $(PY) -m translator train --config $(CONFIG) --resume
	@$(PY) -m translator evaluate --run runs/$(CONFIG)

de-en: export GPU = 1
de-en: env-translate ## make the book's translator again, on a GPU: minutes (DATA=folder with the corpora)
	@env -u OMP_NUM_THREADS $(PY) -m tools.train_gpu --only translator $(if $(DATA),--data-dir $(DATA))

# Each training goes on with the weights of the one before; the third adds a layer that writes. Longer
# outputs than alpha = 1.4 asks for repeat themselves where a validation sentence is long.
DE_EN := $(PY) -m translator train --config de-en --resume
de-en-cpu: env-translate ## a translator of the same size without a GPU: five hours of a core (DATA=folder)
	@$(PY) -m translator prepare --config de-en $(if $(DATA),--data-dir $(DATA))
	@$(DE_EN)
	@$(DE_EN) --from runs/de-en/model --out runs/de-en-2 --set training.max_seconds=5600
	@$(DE_EN) --from runs/de-en-2/model --out runs/de-en-3 --set training.max_seconds=5200 \
		--set training.decay_share=0.7 --set model.num_decoder_layers=3
	@$(PY) -m translator evaluate --run runs/de-en-3 --after runs/de-en runs/de-en-2 --corpus tatoeba --alpha 0.6 1 1.4
	@$(PY) -m translator export --run runs/de-en-3 --out runs/de-en-cpu --int8 --data data/de-en

# The length penalty is the one that is best on the validation pairs.
captions: env-translate ## Multi30k, captions of images, on one core with models/de-en to begin with: an hour (DATA=folder)
	@$(PY) -m translator prepare --config multi30k-de-en --vocabulary models/de-en $(if $(DATA),--data-dir $(DATA))
	@$(PY) -m translator train --config multi30k-de-en --from models/de-en --resume
	@$(PY) -m translator evaluate --run runs/multi30k-de-en --after models/de-en --alpha 1 1.4 1.8

train-gpu: export GPU = 1
train-gpu: env-translate ## all that wants a GPU: records and the translator (DATA=folder with the corpora)
	@env -u OMP_NUM_THREADS $(PY) -m tools.train_gpu $(if $(DATA),--data-dir $(DATA))

lock:      ## pin again what requirements.txt pulls in
	@$(PYTHON) tools/bootstrap.py --lock

clean:     ## remove what was built; the environment stays
	rm -rf _build
