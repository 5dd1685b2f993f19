"""A SLURM of one node on this machine: munge, controller and node daemon under a folder."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.benchmark.run.grid_runs import until

PATHS = "/usr/sbin:/usr/bin:/sbin:/bin"
CONFIG = """
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
KillWait=1
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=100000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def slurm(folder: Path) -> Iterator[None]:
    """A SLURM of two CPUs under a folder, killed at the end; SLURM_CONF in the environment leads commands to it."""
    absent = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if not shutil.which(name, path=PATHS)]
    if absent or os.geteuid() != 0:
        pytest.skip(f"a SLURM needs root and the packages slurm-wlm and munge; not installed: {absent}")
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(mode=0o711 if name == "munge" else 0o755, parents=True)
    key, config = folder / "munge" / "key", folder / "slurm.conf"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    port, node_port = (listener.getsockname()[1] for listener in sockets)
    for listener in sockets:
        listener.close()
    host = socket.gethostname().partition(".")[0]
    config.write_text(CONFIG.format(folder=folder, host=host, port=port, node_port=node_port))
    before = dict(os.environ)
    os.environ |= {"SLURM_CONF": str(config), "PATH": f"{os.environ['PATH']}:{PATHS}"}
    munge = [f"--{name}-file={folder}/munge/{name}" for name in ("pid", "log", "seed")]
    try:
        for daemon in (["munged", "--force", f"--key-file={key}", f"--socket={folder}/munge/socket", *munge],
                       ["slurmctld"], ["slurmd"]):  # fmt: skip
            subprocess.run(daemon, check=True)
        until(lambda: "idle" in subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True).stdout)
        yield
    finally:
        subprocess.run(["scancel", "-u", "root"], capture_output=True)
        for file in ("slurmctld.pid", "slurmd.pid", "munge/pid"):
            with suppress(OSError):
                os.kill(int((folder / file).read_text()), signal.SIGKILL)
        end_steps(config)
        os.environ.clear()
        os.environ |= before


def end_steps(config: Path) -> None:
    """Kill what daemons leave behind that are killed: the keepers of steps, and the steps."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(folder.name) != os.getpid() and f"SLURM_CONF={config}".encode() in (folder / "environ").read_bytes():
                os.kill(int(folder.name), signal.SIGKILL)
