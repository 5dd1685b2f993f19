"""A SLURM of one node on this machine: munge, controller and node daemon under a folder."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
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
MinJobAge=300
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=100000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@dataclass(frozen=True)
class Cluster:
    """A running SLURM; SLURM_CONF in the environment leads its commands to it."""

    folder: Path

    def say(self, *command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def queue(self) -> dict[str, str]:
        """Job -> state, of those in the queue."""
        lines = self.say("squeue", "-h", "-r", "-o", "%i %T").splitlines()
        return dict(line.split() for line in lines)

    def clear(self) -> None:
        """Cancel all jobs, and wait until they have left the queue."""
        answer("scancel", "-u", "root")
        wait_until(lambda: not self.queue(), 30, lambda: logs(self.folder))


def why_not() -> str:
    """Why no SLURM can be started here; '' if one can."""
    missing = [name for name in (*DAEMONS, "sbatch", "srun") if shutil.which(name, path=PATHS) is None]
    if missing:
        return f"no {', '.join(missing)} here; .ci/run installs them (apt-get install slurm-wlm munge)"
    return "" if os.geteuid() == 0 else "a SLURM of one's own is started by root alone"


@contextmanager
def started(folder: Path, cpus: int = 2) -> Iterator[Cluster]:
    """A SLURM under a folder, killed at the end. Raises RuntimeError with its logs if it does not start.

    cpus: jobs of one CPU that run at a time; the machine may have fewer.
    """
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(mode=0o711 if name == "munge" else 0o755)
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    port, node_port = free_ports(2)
    host = socket.gethostname().partition(".")[0]
    config = folder / "slurm.conf"
    config.write_text(CONFIG.format(folder=folder, host=host, cpus=cpus, port=port, node_port=node_port))
    before = dict(os.environ)
    os.environ |= {"SLURM_CONF": str(config), "PATH": f"{os.environ['PATH']}:{PATHS}"}
    try:
        munge = [f"--{name}-file={folder}/munge/{name}" for name in ("pid", "log", "seed")]
        run(["munged", "--force", f"--key-file={key}", f"--socket={folder}/munge/socket", *munge], folder)
        run(["slurmctld"], folder)
        run(["slurmd"], folder)
        wait_until(lambda: "idle" in answer("sinfo", "-h", "-o", "%T"), 30, lambda: logs(folder))
        yield Cluster(folder)
    finally:
        answer("scancel", "-u", "root")
        for file in ("slurmctld.pid", "slurmd.pid", "munge/pid"):
            end(folder / file)
        end_steps(config)
        os.environ.clear()
        os.environ |= before


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} did not start: {done.stderr}{logs(folder)}")


def answer(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout


def logs(folder: Path) -> str:
    files = [*folder.glob("*.log"), *folder.glob("munge/log")]
    return "".join(f"\n{file.name}: {''.join(file.read_text().splitlines(True)[-5:])}" for file in files)


def end(file: Path) -> None:
    """End the daemon of a pid file, by force if it does not end by itself."""
    if not file.is_file():
        return
    pid = int(file.read_text())
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        until = time.monotonic() + 1
        while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
            time.sleep(0.05)


def end_steps(config: Path) -> None:
    """Kill what daemons leave behind that are killed: the keepers of steps, and the steps."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(folder.name) != os.getpid() and f"SLURM_CONF={config}".encode() in (folder / "environ").read_bytes():
                os.kill(int(folder.name), signal.SIGKILL)


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


def wait_until(so: Callable[[], bool], seconds: float = 60, why: Callable[[], str] = str) -> None:
    until = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < until, why()
        time.sleep(0.1)
