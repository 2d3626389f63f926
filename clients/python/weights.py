"""Distributes the weights of a model to replicas, by a multicast group of Weft.

    weights.py replica --group ADDRESS --port PORT --address OWN
    weights.py trainer --group ADDRESS --port PORT --address OWN

Engine has the methods of vLLM's WeightTransferEngine, so that a user of vLLM sees where it goes:
init_transfer_engine, receive_weights, shutdown, and trainer_send_weights at the trainer. One group
carries one shard; the receivers are the replicas that have this shard. The model here is random
octets in 200 tensors; both ends print one line of JSON with its SHA-256.
"""

import argparse
import hashlib
import json
import mmap
import time

import weft

TENSORS = 200
OCTETS = 64 << 20
CHUNK = 1 << 20
WINDOW = 64  # tensors that may be under way: receivers take them one by one


def shapes(octets=OCTETS, tensors=TENSORS):
    """Returns (name, place, octets) of each tensor: sizes differ, and add up."""
    out, at = [], 0
    for i in range(tensors):
        end = octets * (i + 1) * (i + 2) // (tensors * (tensors + 1))
        out.append(("layers.%d.weight" % i, at, end - at))
        at = end
    return out


class Engine:
    """Moves the tensors of a model from a trainer to replicas."""

    def __init__(self, octets=OCTETS, tensors=TENSORS):
        self.memory = mmap.mmap(-1, octets)
        self.tensors = shapes(octets, tensors)
        self.connection = None

    def init_transfer_engine(self, group, port, address, token=None, listen=False):
        """Joins the group as a replica. The memory is registered once."""
        self.connection = weft.join(group, port, self.memory, token, address, listen)

    def receive_weights(self, load_weights, seconds=600):
        """Calls load_weights with (name, tensor) as each tensor arrives: its octets are in place already."""
        for _ in self.tensors:
            name, at, octets = self.tensors[self.connection.wait(seconds)]
            view = memoryview(self.memory)[at:at + octets]
            load_weights([(name, view)])
            view.release()

    def open(self, group, port, address, token=None):
        """Joins the group as the trainer. It returns when all replicas are there."""
        self.connection = weft.open_source(group, port, self.memory, token, address)

    def trainer_send_weights(self, seconds=600):
        """Sends each tensor once. It returns when every replica has acknowledged all of them."""
        for i, (_, at, octets) in enumerate(self.tensors):
            for piece in range(at, at + octets, CHUNK):
                n = min(CHUNK, at + octets - piece)
                last = piece + n == at + octets
                self.connection.write(piece, n, imm=i if last else None)
            if i % WINDOW == WINDOW - 1:
                self.connection.flush(seconds)
        self.connection.flush(seconds)

    def shutdown(self):
        """Leaves the group."""
        self.connection.leave()


def fill(memory, seed=1):
    """Fills a memory with octets that follow from the seed."""
    for at in range(0, len(memory), CHUNK):
        n = min(CHUNK, len(memory) - at)
        memory[at:at + n] = hashlib.shake_128(b"%d %d" % (seed, at)).digest(n)


def sent(interface):
    """Returns the octets that have left an interface."""
    with open("/sys/class/net/%s/statistics/tx_bytes" % interface) as f:
        return int(f.read())


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("role", choices=["trainer", "replica"])
    p.add_argument("--group", required=True, help="the proxy address; several, by commas, are written to in turn")
    p.add_argument("--port", type=int, default=4242)
    p.add_argument("--address", help="of this host")
    p.add_argument("--token")
    p.add_argument("--listen", action="store_true", help="wait until the group connects")
    p.add_argument("--octets", type=int, default=OCTETS)
    p.add_argument("--tensors", type=int, default=TENSORS)
    p.add_argument("--interface", default="eth0", help="whose octets are counted")
    a = p.parse_args()
    engine = Engine(a.octets, a.tensors)
    out = {"role": a.role, "octets": a.octets, "tensors": a.tensors}
    if a.role == "replica":
        engine.init_transfer_engine(a.group, a.port, a.address, a.token, a.listen)
        digest = hashlib.sha256()
        names = set()
        engine.receive_weights(lambda weights: names.update(name for name, _ in weights))
        if len(names) != a.tensors:
            raise SystemExit("%d tensors of %d" % (len(names), a.tensors))
    else:
        fill(engine.memory)
        out["sent"], out["seconds"] = 0, 0
        for group in a.group.split(","):
            engine.open(group, a.port, a.address, a.token)
            before, began = sent(a.interface), time.monotonic()
            engine.trainer_send_weights()
            out["sent"] += sent(a.interface) - before
            out["seconds"] += round(time.monotonic() - began, 3)
            engine.shutdown()
        digest = hashlib.sha256()
    digest.update(engine.memory)
    out["sha256"] = digest.hexdigest()
    print(json.dumps(out), flush=True)
    if a.role == "replica":
        engine.shutdown()


if __name__ == "__main__":
    main()
