"""What the sections of a trial share: commands that end in time with all that they started, and what is said of their parts."""

import contextlib
import dataclasses
import glob
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zlib

HERE = pathlib.Path(__file__).resolve().parent.parent.parent
MOST_LOG = 200_000  # characters of a command's output that are kept
TAP = ("# random seed:", "# Start of ", "# End of ")  # lines that every test prints
TOLD = 8  # lines of it that the page tells where it failed
PREFLIGHT_SECONDS = 120  # at most, before the clock starts
HOST_SLOWER = 30  # how much longer commands may take on kernels that run on the host


class Failed(Exception):
    """A part of a section failed. said: what its command said at last; output: all that it printed."""

    def __init__(self, reason, said="", output=""):
        super().__init__(reason)
        self.said, self.output = said, output


class Late(Exception):
    """There was no time for a part, or not enough. output: what its command had printed by then; needs: what the page says of the time."""

    def __init__(self, output="", needs=""):
        super().__init__("no time was left")
        self.output, self.needs = output, needs


class Absent(Exception):
    """What a part needs is not on this machine, or is refused by it."""


@dataclasses.dataclass
class Ran:
    status: int  # 124 where the command took longer than it may, 127 where it did not start
    output: str
    errors: str

    def lines(self):
        return [line.strip()[:300] for line in (self.output + "\n" + self.errors).splitlines() if line.strip()]

    def reason(self):
        """One line: the signal that ended it, and the last that was said on standard error, else on standard output."""
        said = [line.strip()[:300] for line in (self.errors.strip() or self.output).splitlines() if line.strip() and not line.startswith(TAP)]
        by = [f"ended by a signal ({signal.strsignal(-self.status)})"] if self.status < 0 else []
        return ": ".join(by + said[-1:]) or f"exit status {self.status}, nothing was said"

    def failure(self, reason=None):
        return Failed(reason or self.reason(), "\n".join(self.lines()[-TOLD:]), self.output)


class Trial:
    def __init__(self, args):
        self.out, self.minutes = pathlib.Path(args.out).resolve(), args.minutes
        self.shim, self.started = args.shim is not None, time.monotonic()
        self.folder, self.programs = str(args.out), f"--shim {args.shim}" if self.shim else f"--unpack {getattr(args, 'unpack', None)}"
        self.end = self.deadline = self.started + PREFLIGHT_SECONDS
        self.results, self.lines, self.seconds = {}, {}, {}  # of sections, those begun
        self.failed, self.late, self.absent = [], [], []  # (section, reason, last lines); (section, part); (section, reason)
        self.signal, self.running, self.lock = None, set(), threading.Lock()
        self.gpus, self.refused = 0, ""  # how many GPUs loam finds; why it uses none
        self.gpu, self.about = None, ""  # nvidia-smi's number of the GPU that is used, None if not known; the line of the preflight
        self.env = dict(os.environ, OMP_WAIT_POLICY="passive")
        if self.env.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):  # a shell that hides all GPUs; a choice of one is the caller's
            del self.env["CUDA_VISIBLE_DEVICES"]

    def open(self, args):
        """Finds or unpacks the programs, then makes the folder of the results. What is wrong with that is an OSError or a ValueError."""
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="gpu-trial-"))
        self.logs = self.work / "logs"
        self.logs.mkdir()
        if self.shim:
            self.bin = self.library = pathlib.Path(args.shim).resolve()
            self.loam = self.bin / "loam"
            self.env.update(LD_LIBRARY_PATH=str(self.bin / "test-driver"), LOAM_CUDA_BACKEND=str(self.bin / "libbackend_shim.so"),
                            LOAM_FAKE_GPU_MEMORY="38813696", OMP_NUM_THREADS="1")
        else:
            root = unpack(args.unpack, self.work)
            self.bin, self.library, self.loam = root / "bin", root / "lib" / "loam", root / "bin" / "loam"
            self.env["LD_LIBRARY_PATH"] = ":".join(cuda_folders() + [self.env.get("LD_LIBRARY_PATH", "")]).rstrip(":")
        self.out.mkdir(parents=True, exist_ok=True)

    def start_clock(self):
        self.started = time.monotonic()
        self.end = self.deadline = self.started + 60 * self.minutes

    def close(self):
        shutil.rmtree(getattr(self, "work", ""), ignore_errors=True)

    # ---- what is said ----

    def say(self, section, line):
        self.lines.setdefault(section, []).append(line)

    def fail(self, section, reason, said=""):
        self.failed.append((section, reason, said))
        tell(f"{section}: FAILED: {reason}")

    @contextlib.contextmanager
    def part(self, section, name=""):
        """A part of a section: that it fails, or that there was no time for it, is noted, and the other parts go on."""
        try:
            yield
        except Late as error:
            self.late.append((section, (name or "all of it") + error.needs))
        except Absent as error:
            self.absent.append((section, str(error)))
            tell(f"{section}: not here: {error}")
        except Exception as error:
            reason = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
            self.fail(section, f"{name}: {reason}" if name else reason, getattr(error, "said", ""))

    # ---- commands ----

    def run(self, name, words, seconds, env=None, stdin=""):
        """A command's end. It is killed, with all that it started, after so many seconds, or, which is Late, when the time of its
        section is over. env: more of it than loam's, or a whole one."""
        limit, left = seconds * (HOST_SLOWER if self.shim else 1), self.deadline - time.monotonic()
        words = [str(word) for word in words]
        try:
            process = self.start(words, env if env and "PATH" in env else {**self.env, **(env or {})}, left)
        except OSError as error:
            return Ran(127, "", f"{error.strerror}: {words[0]}")
        status, output, errors = finish(process, stdin, min(limit, left))
        with self.lock:
            self.running.discard(process)
        late = self.signal or status == 124 and left < limit
        if status == 124:
            errors += f"\nended after {min(limit, left):.0f} s" + (", the time of its section" if late else ", the most that it may take")
        self.log(name, f"$ {' '.join(words)}\n{output[-MOST_LOG:]}\n{errors[-MOST_LOG:]}\nexit status {status}\n")
        if late:
            raise Late(output)
        return Ran(status, output, errors)

    def must(self, name, words, seconds, env=None, stdin=""):
        """Its standard output; Failed where it failed."""
        ran = self.run(name, words, seconds, env, stdin)
        if ran.status != 0:
            raise ran.failure()
        return ran.output

    def log_products(self, name, words, env=None):
        """Runs a command that failed again, with what cuBLASLt says of each of its calls in a log of its own."""
        with contextlib.suppress(Late):
            self.run(f"{name}-cublaslt", words, 100, {**(env or {}), "CUBLASLT_LOG_LEVEL": "5"})

    def must_have(self, seconds):
        """Late, with the time that the part would need, if the section has less left."""
        left = max(0, self.deadline - time.monotonic())
        if left < seconds and not self.shim:
            raise Late(needs=f" (needs about {seconds} s, {left:.0f} s were left)")

    def start(self, words, env, left):
        with self.lock:
            if self.signal or left <= 0:
                raise Late
            process = subprocess.Popen(words, cwd=HERE, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, errors="replace", start_new_session=True)
            self.running.add(process)
        return process

    def log(self, name, text):
        try:
            (self.logs / f"{name}.log").write_text(text)
        except OSError as error:
            if not any(section == "logs" for section, _, _ in self.failed):
                self.fail("logs", f"{self.logs}: {error.strerror}")

    def stop(self, number, _):
        """A signal: what runs is killed, nothing more is started, and the page says so. A second one ends the trial at once."""
        if self.signal:
            os._exit(128 + number)
        self.signal = signal.Signals(number)
        with self.lock:
            for process in self.running:
                kill(process)


def tell(line):
    with contextlib.suppress(OSError):
        print(f"gpu-trial: {line}", file=sys.stderr, flush=True)


def finish(process, stdin, seconds):
    """(exit status, output, errors) of a process that is killed when it takes longer: 124."""
    try:
        output, errors = process.communicate(stdin, timeout=seconds)
        return process.returncode, output, errors
    except subprocess.TimeoutExpired:
        kill(process)
    try:
        return 124, *process.communicate(timeout=5)
    except subprocess.TimeoutExpired as error:  # something that left the group holds its output
        return 124, (error.output or b"").decode(errors="replace"), (error.stderr or b"").decode(errors="replace")


def kill(process):
    """The process, its group, and all that descends from it in groups of their own."""
    children = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            text = pathlib.Path(path).read_text()
            children.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(text.split()[0]))
    doomed = [process.pid]
    for pid in doomed:
        doomed += children.get(pid, [])
    for end, pids in (os.killpg, doomed[:1]), (os.kill, doomed[1:]):
        for pid in pids:
            with contextlib.suppress(OSError):
                end(pid, signal.SIGKILL)


def unpack(archive, folder):
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # Python 3.11.4, and distributions' 3.10
            while tar.fileobj.read(1 << 20):  # to its end, where the checksum is
                pass
        return next(folder.glob("loam-*-linux-*/bin/loam")).parent.parent
    except (OSError, tarfile.TarError, zlib.error, EOFError, StopIteration) as error:
        if getattr(error, "errno", None):  # of the system, such as a full disk; gzip's errors have none
            raise ValueError(f"{error.filename or folder}: {error.strerror}") from None
        reason = str(error).splitlines()[0].rstrip(":") if str(error) else "no loam in it"
        raise ValueError(f"{archive} is not what `make gpu-trial` packs: {reason}") from None


def cuda_folders():
    """Where cuBLASLt and NCCL may lie: CUDA's own folder, and the packages that PyTorch brings."""
    found = glob.glob("/usr/local/cuda*/lib64") + glob.glob("/usr/local/cuda*/targets/x86_64-linux/lib")
    for path in sys.path + glob.glob("/opt/*/.venv/lib/python3*/site-packages"):
        found += glob.glob(os.path.join(path, "nvidia", "*", "lib"))
    drivers = [os.path.dirname(path) for path in glob.glob("/usr/local/nvidia/lib*/libcuda.so.1")]
    return [folder for folder in found if any(glob.glob(os.path.join(folder, name)) for name in ("libcublasLt.so.1*", "libnccl.so.2"))] + drivers


def tool_of_cuda(name):
    """Path of a tool that is not on every machine."""
    places = ["/usr/local/cuda*/bin", *(os.path.join(path, "nvidia", "cu*", "bin") for path in sys.path)]  # CUDA's own, and packages of PyPI
    path = shutil.which(name) or next((found for place in places for found in sorted(glob.glob(os.path.join(place, name)))), None)
    if not path:
        raise Absent(f"{name} is not on this machine")
    return path


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] +
                     ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])
