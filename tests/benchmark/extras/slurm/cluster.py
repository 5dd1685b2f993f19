"""A SLURM of one node on this machine, for tests and docs/scaling: munge, controller and node daemon under a folder."""

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

MOST_IN_AN_ARRAY = 3
GPUS = 1
"""That the node counts, without a device behind them."""
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
MaxArraySize={most}
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
JobSubmitPlugins=lua
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=100000 Gres=gpu:{gpus} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
LIMIT = """
function slurm_job_submit(job, partitions, user)
  local file = io.open("{folder}/most_jobs")
  if not file then return slurm.SUCCESS end
  local most = tonumber(file:read())
  file:close()
  local count, first, last = 1, string.match(job.array_inx or "", "(%d+)-(%d+)")
  if last then count = last - first + 1 end
  for _, own in pairs(slurm.jobs) do
    if own.job_state < 3 then count = count + math.max(1, own.array_task_cnt or 1) end
  end
  if count > most then
    slurm.log_user("AssocMaxSubmitJobLimit")
    return 2050
  end
  local now = os.time()
  repeat until os.time() > now
  return slurm.SUCCESS
end
function slurm_job_modify(job, found, partitions, user)
  return slurm.SUCCESS
end
"""
"""What an account's MaxSubmitJobs does, which only a database server could keep: 2050 is ESLURM_ACCOUNTING_POLICY.

The controller tells scripts of new jobs once a second.
"""


@dataclass(frozen=True)
class Cluster:
    """A running SLURM; SLURM_CONF in the environment leads its commands to it."""

    folder: Path

    def say(self, *command: str) -> str:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Within, jobs wait."""
        self.say("scontrol", "update", "PartitionName=main", "State=DOWN")
        try:
            yield
        finally:
            self.say("scontrol", "update", "PartitionName=main", "State=UP")

    @contextmanager
    def most_jobs(self, count: int) -> Iterator[None]:
        """Within, no more jobs may be in the queue."""
        file = self.folder / "most_jobs"
        file.write_text(str(count))
        try:
            yield
        finally:
            file.unlink()

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
    ports = {"port": port, "node_port": node_port}
    config.write_text(CONFIG.format(folder=folder, host=host, cpus=cpus, gpus=GPUS, most=MOST_IN_AN_ARRAY, **ports))
    for number in range(GPUS):
        (folder / f"gpu{number}").touch()
    (folder / "gres.conf").write_text(f"Name=gpu File={folder}/gpu[0-{GPUS - 1}]\n")
    (folder / "job_submit.lua").write_text(LIMIT.format(folder=folder))
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
    ports = [own.getsockname()[1] for own in sockets]
    for own in sockets:
        own.close()
    return ports


def wait_until(so: Callable[[], bool], seconds: float = 60, why: Callable[[], str] = str) -> None:
    until = time.monotonic() + seconds
    while not so():
        assert time.monotonic() < until, why()
        time.sleep(0.1)
