"""Attacks on other processes, the network and the judge's channel."""

from __future__ import annotations

from quintain.sandbox import Program, python_program
from quintain.testing._attacks._attack import _PRELUDE, Attack, attack

__all__ = ["SYSTEM_ATTACKS"]


def _looped(source: str) -> Program:
    program = python_program(_PRELUDE + source)
    return Program(argv=program.argv, files=program.files, loopback=True)


_SERVE = """
import socket
server = socket.create_server(("127.0.0.1", 8080))
client = socket.create_connection(("127.0.0.1", 8080))
accepted, _ = server.accept()
client.sendall(b"x")
held(own_network=accepted.recv(1) == b"x")
"""

SYSTEM_ATTACKS: tuple[Attack, ...] = (
    attack(
        54,
        "killing_everybody",
        """
import signal
# to signal its own group is to signal itself
refused(os.kill, -1, signal.SIGKILL)
if os.getppid() > 0:
    refused(os.kill, os.getppid(), signal.SIGKILL)
held()
""",
    ),
    attack(
        55,
        "killing_the_init_of_the_world",
        """
import signal, time
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
    refused(os.kill, 1, number)
time.sleep(0.1)
held()
""",
    ),
    attack(
        56,
        "the_internet_is_not_there",
        """
import socket
def reach(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(1)
        s.connect(address)
def resolve(): socket.getaddrinfo("example.com", 80)
def say(): socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("1.1.1.1", 53))
held(ipv4=refused(reach, socket.AF_INET, ("1.1.1.1", 443)),
     ipv6=refused(reach, socket.AF_INET6, ("2606:4700:4700::1111", 443)),
     metadata=refused(reach, socket.AF_INET, ("169.254.169.254", 80)),
     host=refused(reach, socket.AF_INET, ("127.0.0.1", @PORT@)),
     dns=refused(resolve), datagram=refused(say),
     devices=set(dict(map(reversed, socket.if_nameindex()))) <= {"lo"})
""",
    ),
    attack(57, "a_port_of_its_own", _looped(_SERVE), _looped(_SERVE)),
    attack(
        58,
        "no_sockets_of_the_host",
        """
import socket
def abstract(): socket.socket(socket.AF_UNIX).connect("\\0@ABSTRACT@")
def netlink(protocol): socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
held(abstract=refused(abstract), docker=not os.path.exists("/var/run/docker.sock"),
     audit=refused(netlink, 9), uevent=refused(netlink, 15), netfilter=refused(netlink, 12),
     raw=refused(socket.socket, socket.AF_INET, socket.SOCK_RAW, 1),
     packet=refused(socket.socket, 17, socket.SOCK_RAW, 3))
""",
    ),
    attack(
        59,
        "no_channel_to_forge_a_verdict_on",
        """
for fd in range(3, 300):
    for text in (b'{"event":"exit","status":0,"cpu_s":0}', b'\\0' * 8):
        refused(os.write, fd, text)
print('{"event":"exit","status":0}')
sys.exit(3)
""",
        ends="runtime_error",
    ),
    attack(
        60,
        "no_secrets_in_the_environment",
        """
seen = open("/proc/self/environ", "rb").read() + repr(dict(os.environ)).encode()
seen += open("/proc/self/cmdline", "rb").read()
held(environment=b"@TOKEN@" not in seen,
     fixed=os.environ["PYTHONHASHSEED"] == "0" and os.environ["TZ"] == "UTC")
""",
    ),
    attack(
        64,
        "the_zygote_remembers_nobody",
        "seen = '@NONCE@'\nheld()",
        # what is looked for must not be in memory for having been looked for: the needle is kept
        # with every byte one higher, and memory is compared after raising it by one
        """
raised = bytes((value + 1) % 256 for value in range(256))
found = 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    spans = [line.split()[0].split("-") for line in maps if line.split()[1].startswith("r")]
    for low, high in spans:
        try:
            memory.seek(int(low, 16))
            data = memory.read(int(high, 16) - int(low, 16))
        except (OSError, OverflowError, ValueError):
            continue
        found += data.translate(raised).count(b"@SHIFTED@")
held(memory=found == 0)
""",
        limits={"cpu_s": 4},
    ),
)
