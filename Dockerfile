# The suite in a container, for machines where nothing may be installed or where a run has to be repeated years later.
#
#   docker build -t ecg-pretrain-bench .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/work" ecg-pretrain-bench --config small
#   apptainer build suite.sif docker-daemon://ecg-pretrain-bench:latest && apptainer run suite.sif --config small
#
# Data, cache, runs and tables lie in the folder that is mounted at /work. With a GPU: --build-arg TORCH_INDEX=the index of
# the build for its CUDA (https://pytorch.org), and `docker run --gpus all`, `apptainer run --nv`.
FROM python:3.11-slim-bookworm
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
# A clone holds what is committed, no data and no runs; its commit stands in every row.
COPY .git /tmp/suite.git
RUN git clone -q /tmp/suite.git /suite && git config --system --add safe.directory /suite
RUN pip install --no-cache-dir -c /suite/constraints.txt --no-deps --extra-index-url "$TORCH_INDEX" torch==2.13.0 \
 && pip install --no-cache-dir -c /suite/constraints.txt -e "/suite[dask,formats,minirocket]"
# A user of --user has no home, and Numba and Matplotlib need a folder for what they compile and cache.
ENV HOME=/tmp
WORKDIR /work
ENTRYPOINT ["ecg-pretrain-bench"]
