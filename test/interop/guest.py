"""The work of a guest: queue pairs of Linux's soft-RoCE, as a test asks by lines of JSON.

Each line on the virtio port is a call, {"call": NAME, ...}; each answer is a line too,
{"ok": VALUE} or {"error": TEXT}. Verbs are those of rdma-core (libibverbs), by pyverbs.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
import traceback

import pyverbs.enums as e
from pyverbs.addr import AHAttr, GID, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import RecvWR, SendWR, SGE

ACCESS = e.IBV_ACCESS_LOCAL_WRITE | e.IBV_ACCESS_REMOTE_WRITE
CHUNK = 1 << 20
OPCODES = {
    "WRITE": e.IBV_WR_RDMA_WRITE,
    "WRITE_WITH_IMM": e.IBV_WR_RDMA_WRITE_WITH_IMM,
    "SEND": e.IBV_WR_SEND,
    "SEND_WITH_IMM": e.IBV_WR_SEND_WITH_IMM,
}


def sh(command):
    subprocess.run(command, shell=True, check=True)


class Host:
    """A host with one port, one memory region and one queue pair, and programs."""

    def __init__(self):
        self.programs = {}

    def setup(self, address, mtu):
        """Makes the port, with an address. The way to everything is the router that advertises itself, of
        IPv4 the first address of the prefix, as a configuration says it."""
        sh("/bin/ip link set dev lo up && /bin/ip link set dev eth0 mtu %d up" % mtu)
        until = time.time() + 60
        if "." in address:
            router = address.rsplit(".", 1)[0] + ".1"
            sh("/bin/ip address add %s/24 dev eth0 && /bin/ip route add default via %s" % (address, router))
            ready = ["/bin/busybox", "ping", "-c", "1", "-W", "1", router]
            found = lambda: subprocess.run(ready, capture_output=True).returncode == 0
        else:
            sh("/bin/ip -6 address add %s/128 dev eth0" % address)
            routes = ["/bin/ip", "-6", "route"]
            found = lambda: "default" in subprocess.run(routes, capture_output=True, text=True).stdout
        while not found():
            if time.time() > until:
                raise RuntimeError("no router is found")
            time.sleep(0.1)
        sh("rdma link add rxe0 type rxe netdev eth0")
        self.address = address
        base = "/sys/class/infiniband/rxe0/ports/1/"
        until = time.time() + 30
        while time.time() < until:
            for index in os.listdir(base + "gids"):
                try:
                    gid = open(base + "gids/" + index).read().strip()
                    kind = open(base + "gid_attrs/types/" + index).read().strip()
                except OSError:
                    continue
                if GID(gid).gid == GID(full(address)).gid and kind == "RoCE v2":
                    self.index = int(index)
                    self.context = Context(name="rxe0")
                    self.pd = PD(self.context)
                    return self.index
            time.sleep(0.1)
        raise RuntimeError("no GID of " + address)

    def memory(self, octets, fill):
        """Registers memory: of zeros, or of a pattern that the fill chooses."""
        self.mr = MR(self.pd, octets, ACCESS)
        for at in range(0, octets, CHUNK):
            n = min(CHUNK, octets - at)
            self.mr.write(pattern(fill, at, n), n, at)
        return {"va": self.mr.buf, "rkey": self.mr.rkey}

    def refill(self, octets, fill):
        """Writes the memory anew."""
        for at in range(0, octets, CHUNK):
            n = min(CHUNK, octets - at)
            self.mr.write(pattern(fill, at, n), n, at)

    def create(self, depth):
        """Makes a queue pair and returns its number."""
        self.cq = CQ(self.context, 4 * depth)
        cap = QPCap(max_send_wr=depth, max_recv_wr=depth, max_send_sge=1, max_recv_sge=1)
        self.qp = QP(self.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=self.cq, rcq=self.cq, cap=cap, sq_sig_all=1))
        return self.qp.qp_num

    def connect(self, peer, qpn, psn, rq_psn=None, timeout=17):
        """Moves the queue pair to RTS."""
        route = GlobalRoute(dgid=GID(full(peer)), sgid_index=self.index)
        route.hop_limit = 64
        attr = QPAttr(port_num=1)
        attr.qp_access_flags = ACCESS
        attr.path_mtu = e.IBV_MTU_4096
        attr.dest_qp_num = qpn
        attr.rq_psn = psn if rq_psn is None else rq_psn
        attr.sq_psn = psn
        attr.max_dest_rd_atomic = attr.max_rd_atomic = 1
        attr.min_rnr_timer = 1
        attr.ah_attr = AHAttr(gr=route, is_global=1, port_num=1)
        attr.timeout = timeout
        attr.retry_cnt = attr.rnr_retry = 7
        self.qp.to_rts(attr)

    def receive(self, offsets, octets):
        """Posts a buffer of so many octets at each offset."""
        for i, at in enumerate(offsets):
            self.qp.post_recv(RecvWR(wr_id=i, num_sge=1, sg=[SGE(self.mr.buf + at, octets, self.mr.lkey)]))

    def post(self, op, octets, message, va=0, rkey=0, imm=0):
        """Posts requests for the first octets of the memory."""
        count = 0
        for at in range(0, octets, message):
            n = min(message, octets - at)
            wr = SendWR(opcode=OPCODES[op], num_sge=1, sg=[SGE(self.mr.buf + at, n, self.mr.lkey)], imm_data=imm)
            wr.send_flags = e.IBV_SEND_SIGNALED
            if op.startswith("WRITE"):
                wr.set_wr_rdma(rkey, va + at)
            self.qp.post_send(wr)
            count += 1
        return count

    def complete(self, count, seconds):
        """Waits for completions; the answer has their statuses, and the immediate data."""
        out, until = [], time.time() + seconds
        while len(out) < count and time.time() < until:
            n, list_ = self.cq.poll(min(16, count - len(out)))
            for wc in list_:
                out.append([wc.status, wc.opcode, wc.imm_data if wc.wc_flags & e.IBV_WC_WITH_IMM else None, wc.byte_len])
            if not n:
                time.sleep(0.001)
        return out

    def digest(self, octets):
        """The SHA-256 of the first octets of the memory."""
        h = hashlib.sha256()
        for at in range(0, octets, CHUNK):
            h.update(self.mr.read(min(CHUNK, octets - at), at))
        return h.hexdigest()

    def state(self):
        """The state of the queue pair."""
        return int(self.qp.query(e.IBV_QP_STATE)[0].qp_state)

    def counters(self):
        """Counters of the port, by name."""
        base = "/sys/class/infiniband/rxe0/ports/1/hw_counters/"
        return {name: int(open(base + name).read()) for name in sorted(os.listdir(base)) if name != "lifespan"}

    def start(self, name, argv):
        """Starts a program."""
        out = open("/tmp/" + name, "w+b")
        self.programs[name] = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, cwd="/"), out

    def finish(self, name, seconds):
        """Waits for a program; the answer has its exit code and what it has said."""
        program, out = self.programs.pop(name)
        try:
            code = program.wait(seconds)
        except subprocess.TimeoutExpired:
            program.kill()
            code = program.wait()
        out.seek(0)
        text = out.read().decode(errors="replace")
        out.close()
        return {"code": code, "text": text}

    def neighbors(self):
        """What the kernel knows of neighbors, and which of that somebody has written."""
        return subprocess.run(["/bin/ip", "neigh"], capture_output=True, text=True, check=True).stdout

    def kernel(self):
        """The release of the kernel."""
        return os.uname().release


def full(address):
    """An address as GID takes it: eight groups. One of IPv4 is mapped (RFC 4291 section 2.5.5.2)."""
    import ipaddress
    return ipaddress.IPv6Address("::ffff:" + address if "." in address else address).exploded


def pattern(fill, at, octets):
    """Octets that differ with their place; of zeros for 0."""
    if not fill:
        return bytes(octets)
    return hashlib.shake_128(b"%d %d" % (fill, at)).digest(octets)


def main():
    host = Host()
    port = open(sys.argv[1], "r+b", buffering=0)
    port.write(json.dumps({"ok": "up"}).encode() + b"\n")
    rest = b""
    while True:
        data = port.read(65536)
        if not data:
            time.sleep(0.02)
            continue
        rest += data
        while b"\n" in rest:
            line, rest = rest.split(b"\n", 1)
            try:
                call = json.loads(line)
                answer = {"ok": getattr(host, call.pop("call"))(**call)}
            except Exception as err:
                answer = {"error": "%s: %s" % (err, traceback.format_exc(limit=2))}
            port.write(json.dumps(answer).encode() + b"\n")


main()
