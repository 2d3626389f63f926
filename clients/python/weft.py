"""Source and receivers of RDMA multicast groups of Weft, by RDMA CM.

A group is a proxy address and a port (spec.connect of a multicast group, docs/multicast.md). The
source writes into memory that every receiver has registered; the fabric makes the copies and
acknowledges what all receivers have:

    receiver = weft.join("2001:db8:ffff::1", 4242, memory)
    source = weft.open_source("2001:db8:ffff::1", 4242, memory)
    source.write(0, 4096, imm=1)
    source.flush(10)
    receiver.wait(10)  # -> 1

It needs Python 3.9 or later, librdmacm and libibverbs (Debian: librdmacm1, ibverbs-providers) and an
RDMA device; on 64-bit Linux alone, whose layouts of C structs it has. Objects are not safe for
concurrent use.
"""

import collections
import ctypes
import os
import select
import socket
import struct
import time
from ctypes import POINTER, byref, c_char, c_int, c_size_t, c_uint, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

PS_TCP = 0x0106
QPT_RC = 2
WR_RDMA_WRITE, WR_RDMA_WRITE_WITH_IMM = 0, 1
SEND_SIGNALED = 2
ACCESS_LOCAL_WRITE, ACCESS_REMOTE_WRITE = 1, 2
WC_WITH_IMM = 2

# Events of RDMA CM (enum rdma_cm_event_type).
CONNECT_REQUEST, UNREACHABLE, REJECTED, ESTABLISHED, DISCONNECTED, DEVICE_REMOVAL = 4, 7, 8, 9, 10, 11

MAGIC, VERSION = 0x5746, 1
HAS_MEMORY, HAS_TOKEN = 1, 2
TOKEN_LEN = 32
_JOIN = struct.Struct(">HBBIQQ32s")
_OFFER = struct.Struct(">HBBIQQI4x")

DEPTH = 128  # requests of a source that are under way
RECEIVES = 512  # messages with immediate data that a receiver has room for


class _Context(ctypes.Structure):
    _fields_ = [("device", c_void_p), ("ops", c_void_p * 32)]


class _QP(ctypes.Structure):
    _fields_ = [("context", POINTER(_Context)), ("qp_context", c_void_p), ("pd", c_void_p), ("send_cq", c_void_p),
                ("recv_cq", c_void_p), ("srq", c_void_p), ("handle", c_uint32), ("qp_num", c_uint32)]


class _CQ(ctypes.Structure):
    _fields_ = [("context", POINTER(_Context))]


class _MR(ctypes.Structure):
    _fields_ = [("context", c_void_p), ("pd", c_void_p), ("addr", c_void_p), ("length", c_size_t), ("handle", c_uint32),
                ("lkey", c_uint32), ("rkey", c_uint32)]


class _SGE(ctypes.Structure):
    _fields_ = [("addr", c_uint64), ("length", c_uint32), ("lkey", c_uint32)]


class _SendWR(ctypes.Structure):
    _fields_ = [("wr_id", c_uint64), ("next", c_void_p), ("sg_list", POINTER(_SGE)), ("num_sge", c_int), ("opcode", c_int),
                ("send_flags", c_uint), ("imm_data", c_uint32), ("remote_addr", c_uint64), ("rkey", c_uint32),
                ("rest", c_uint8 * 76)]


class _RecvWR(ctypes.Structure):
    _fields_ = [("wr_id", c_uint64), ("next", c_void_p), ("sg_list", POINTER(_SGE)), ("num_sge", c_int)]


class _WC(ctypes.Structure):
    _fields_ = [("wr_id", c_uint64), ("status", c_int), ("opcode", c_int), ("vendor_err", c_uint32), ("byte_len", c_uint32),
                ("imm_data", c_uint32), ("qp_num", c_uint32), ("src_qp", c_uint32), ("wc_flags", c_uint), ("rest", c_uint8 * 8)]


class _QPInit(ctypes.Structure):
    _fields_ = [("qp_context", c_void_p), ("send_cq", c_void_p), ("recv_cq", c_void_p), ("srq", c_void_p),
                ("max_send_wr", c_uint32), ("max_recv_wr", c_uint32), ("max_send_sge", c_uint32), ("max_recv_sge", c_uint32),
                ("max_inline_data", c_uint32), ("qp_type", c_int), ("sq_sig_all", c_int)]


class _ConnParam(ctypes.Structure):
    _fields_ = [("private_data", c_void_p), ("private_data_len", c_uint8), ("responder_resources", c_uint8),
                ("initiator_depth", c_uint8), ("flow_control", c_uint8), ("retry_count", c_uint8),
                ("rnr_retry_count", c_uint8), ("srq", c_uint8), ("qp_num", c_uint32)]


class _Event(ctypes.Structure):
    # param is a union, of which the other member is longer.
    _fields_ = [("id", c_void_p), ("listen_id", c_void_p), ("event", c_int), ("status", c_int), ("conn", _ConnParam)]


class _Channel(ctypes.Structure):
    _fields_ = [("fd", c_int)]


class _ID(ctypes.Structure):
    _fields_ = [("verbs", c_void_p), ("channel", POINTER(_Channel)), ("context", c_void_p), ("qp", POINTER(_QP)),
                ("route", c_uint64 * 39), ("ps", c_int), ("port_num", c_uint8), ("event", POINTER(_Event)),
                ("send_cq_channel", c_void_p), ("send_cq", POINTER(_CQ)), ("recv_cq_channel", c_void_p),
                ("recv_cq", POINTER(_CQ)), ("srq", c_void_p), ("pd", c_void_p), ("qp_type", c_int)]


# What layouts() tells a test, under the names of C.
_NAMES = {_Context: "ibv_context", _QP: "ibv_qp", _CQ: "ibv_cq", _MR: "ibv_mr", _SGE: "ibv_sge", _SendWR: "ibv_send_wr",
          _RecvWR: "ibv_recv_wr", _WC: "ibv_wc", _QPInit: "ibv_qp_init_attr", _ConnParam: "rdma_conn_param",
          _Event: "rdma_cm_event", _Channel: "rdma_event_channel", _ID: "rdma_cm_id"}
_IN_OPS = {"poll_cq": 11, "post_send": 25, "post_recv": 26}
_POLL = ctypes.CFUNCTYPE(c_int, POINTER(_CQ), c_int, POINTER(_WC))
_POST_SEND = ctypes.CFUNCTYPE(c_int, POINTER(_QP), POINTER(_SendWR), POINTER(POINTER(_SendWR)), use_errno=True)
_POST_RECV = ctypes.CFUNCTYPE(c_int, POINTER(_QP), POINTER(_RecvWR), POINTER(POINTER(_RecvWR)), use_errno=True)


def layouts():
    """Returns the offset of each field of C that this file uses, by struct and field, and of the functions in ops."""
    out = {}
    for kind, name in _NAMES.items():
        out[name] = {f[0]: getattr(kind, f[0]).offset for f in kind._fields_ if f[0] != "rest"}
    out["ops"] = {name: _Context.ops.offset + 8 * at for name, at in _IN_OPS.items()}
    return out


class Error(OSError):
    """Something of RDMA CM or of a queue pair failed."""


class Refused(Error):
    """The group refuses the application. reason is IBTA's (volume 1, section 12.6.7.2)."""

    def __init__(self, reason, text):
        super().__init__("refused, reason %d: %s" % (reason, text or "no text"))
        self.reason, self.text = reason, text


Offer = collections.namedtuple("Offer", "mtu rkey base length epoch")
Offer.__doc__ = """What a source may write to: length octets at base, under rkey, in packets of mtu octets."""


def encode_join(rkey=None, va=0, length=0, token=None):
    """Returns the private data of an application: 56 octets. A source has no rkey; a token has at most 32 octets."""
    flags, secret = 0, b""
    if rkey is not None:
        flags |= HAS_MEMORY
    if token:
        flags, secret = flags | HAS_TOKEN, token.encode()
        if len(secret) > TOKEN_LEN:
            raise ValueError("a token of %d octets: want at most %d" % (len(secret), TOKEN_LEN))
    return _JOIN.pack(MAGIC, VERSION, flags, rkey or 0, va, length, secret)


def decode_offer(data):
    """Returns the Offer in the private data of a group. ValueError: it is none."""
    if len(data) < _OFFER.size:
        raise ValueError("private data of %d octets: want %d" % (len(data), _OFFER.size))
    magic, version, mtu, rkey, base, length, epoch = _OFFER.unpack(data[:_OFFER.size])
    if magic != MAGIC or version != VERSION or not 1 <= mtu <= 5:
        raise ValueError("magic %#x, version %d, MTU code %d: not those of a group" % (magic, version, mtu))
    return Offer(128 << mtu, rkey, base, length, epoch)


_libraries = None


def _load():
    """Returns librdmacm and libibverbs, with the types of what is called. Error: they are not installed."""
    global _libraries
    if _libraries:
        return _libraries
    if ctypes.sizeof(c_void_p) != 8:
        raise Error("a 64-bit machine is needed")
    try:
        verbs = ctypes.CDLL(os.environ.get("WEFT_IBVERBS", "libibverbs.so.1"), mode=ctypes.RTLD_GLOBAL, use_errno=True)
        cm = ctypes.CDLL(os.environ.get("WEFT_RDMACM", "librdmacm.so.1"), use_errno=True)
    except OSError as err:
        raise Error("%s: install librdmacm1 and ibverbs-providers" % err) from err
    id_ = POINTER(_ID)
    for name, types in {
            "create_id": [c_void_p, POINTER(id_), c_void_p, c_int], "destroy_id": [id_],
            "bind_addr": [id_, c_void_p], "resolve_addr": [id_, c_void_p, c_void_p, c_int], "resolve_route": [id_, c_int],
            "create_qp": [id_, c_void_p, POINTER(_QPInit)], "destroy_qp": [id_],
            "connect": [id_, POINTER(_ConnParam)], "listen": [id_, c_int], "get_request": [id_, POINTER(id_)],
            "accept": [id_, POINTER(_ConnParam)], "disconnect": [id_],
            "get_cm_event": [POINTER(_Channel), POINTER(POINTER(_Event))], "ack_cm_event": [POINTER(_Event)]}.items():
        f = getattr(cm, "rdma_" + name)
        f.argtypes, f.restype = types, None if name == "destroy_qp" else c_int
    verbs.ibv_reg_mr.argtypes, verbs.ibv_reg_mr.restype = [c_void_p, c_void_p, c_size_t, c_int], POINTER(_MR)
    verbs.ibv_dereg_mr.argtypes = [POINTER(_MR)]
    _libraries = cm, verbs
    return _libraries


def _sockaddr(address, port):
    """Returns a sockaddr_in6, or a sockaddr_in."""
    if ":" in address:
        text = struct.pack("=H", socket.AF_INET6) + struct.pack(">HI16sI", port, 0, socket.inet_pton(socket.AF_INET6, address), 0)
    else:
        text = struct.pack("=H", socket.AF_INET) + struct.pack(">H4s8x", port, socket.inet_aton(address))
    return ctypes.create_string_buffer(text, len(text))


class Connection:
    """A queue pair that is connected to a group, and its memory: any writable buffer, such as an mmap."""

    def __init__(self, memory, send, receive):
        self._cm, self._verbs = _load()
        self._id = self._listen = self._mr = None
        self._sends, self._receives = send, receive
        self._buffer = (c_char * len(memory)).from_buffer(memory)
        self._memory, self.length = memory, len(memory)
        self.offer = None

    def _check(self, value, what):
        if value:
            code = ctypes.get_errno()
            event = self._id.contents.event if self._id else None
            if event and event.contents.event == REJECTED:
                raise Refused(event.contents.status, _private(event).split(b"\0")[0].decode(errors="replace"))
            raise Error(code, "%s: %s" % (what, os.strerror(code)))

    def _create(self):
        """Makes the queue pair and registers the memory, at an id that has a device."""
        init = _QPInit(max_send_wr=self._sends, max_recv_wr=max(1, self._receives), max_send_sge=1, max_recv_sge=1, qp_type=QPT_RC,
                       sq_sig_all=0)
        self._check(self._cm.rdma_create_qp(self._id, None, byref(init)), "rdma_create_qp")
        self._mr = self._verbs.ibv_reg_mr(self._id.contents.pd, ctypes.addressof(self._buffer), self.length,
                                          ACCESS_LOCAL_WRITE | ACCESS_REMOTE_WRITE)
        if not self._mr:
            self._check(-1, "ibv_reg_mr")
        self._ops = self._id.contents.qp.contents.context.contents.ops
        for _ in range(self._receives):
            self._receive()

    def _connect(self, group, port, source, token, seconds):
        self._id = POINTER(_ID)()
        self._check(self._cm.rdma_create_id(None, byref(self._id), None, PS_TCP), "rdma_create_id")
        to, wait = _sockaddr(group, port), int(seconds * 1000)
        at = _sockaddr(source, 0) if source else None
        self._check(self._cm.rdma_resolve_addr(self._id, at, to, wait), "rdma_resolve_addr " + group)
        self._check(self._cm.rdma_resolve_route(self._id, wait), "rdma_resolve_route " + group)
        self._create()
        param = self._param(token)
        self._check(self._cm.rdma_connect(self._id, byref(param)), "rdma_connect %s port %d" % (group, port))
        self.offer = decode_offer(_private(self._id.contents.event))

    def _accept(self, address, port, token):
        self._listen = POINTER(_ID)()
        self._check(self._cm.rdma_create_id(None, byref(self._listen), None, PS_TCP), "rdma_create_id")
        self._check(self._cm.rdma_bind_addr(self._listen, _sockaddr(address, port)), "rdma_bind_addr " + address)
        self._check(self._cm.rdma_listen(self._listen, 1), "rdma_listen")
        self._id = POINTER(_ID)()
        self._check(self._cm.rdma_get_request(self._listen, byref(self._id)), "rdma_get_request")
        self.offer = decode_offer(_private(self._id.contents.event))
        self._create()
        param = self._param(token)
        self._check(self._cm.rdma_accept(self._id, byref(param)), "rdma_accept")

    def _param(self, token):
        if self._receives:
            data = encode_join(self._mr.contents.rkey, ctypes.addressof(self._buffer), self.length, token)
        else:
            data = encode_join(token=token)
        self._said = ctypes.create_string_buffer(data, len(data))
        return _ConnParam(private_data=ctypes.addressof(self._said), private_data_len=len(data), retry_count=7, rnr_retry_count=7)

    def _receive(self):
        wr = _RecvWR()
        bad = POINTER(_RecvWR)()
        code = _POST_RECV(self._ops[_IN_OPS["post_recv"]])(self._id.contents.qp, byref(wr), byref(bad))
        if code:
            raise Error(code, "ibv_post_recv: " + os.strerror(code))

    def _poll(self, cq, until):
        """Returns the next completion of a queue, None at the end of the time. Error: the queue pair is broken."""
        wc, poll, pause = _WC(), _POLL(self._ops[_IN_OPS["poll_cq"]]), 0.00001
        while True:
            n = poll(cq, 1, byref(wc))
            if n > 0:
                if wc.status:
                    raise Error("completion with status %d: the queue pair is in its error state" % wc.status)
                return wc
            if n < 0:
                raise Error("ibv_poll_cq failed")
            if time.monotonic() >= until:
                return None
            time.sleep(pause)
            pause = min(2 * pause, 0.001)

    def event(self, seconds=0):
        """Returns what has happened to the connection, such as DISCONNECTED, or None after so many seconds."""
        channel = self._id.contents.channel
        if not select.select([channel.contents.fd], [], [], seconds)[0]:
            return None
        event = POINTER(_Event)()
        self._check(self._cm.rdma_get_cm_event(channel, byref(event)), "rdma_get_cm_event")
        kind = event.contents.event
        self._cm.rdma_ack_cm_event(event)
        return kind

    def leave(self):
        """Ends the connection, and forgets it. The other end answers, or is taken to be gone after a minute."""
        if self._id:
            self._cm.rdma_disconnect(self._id)
        self.close()

    def close(self):
        """Forgets the connection without a word."""
        if self._id:
            if self._id.contents.qp:
                self._cm.rdma_destroy_qp(self._id)
            if self._mr:
                self._verbs.ibv_dereg_mr(self._mr)
            self._cm.rdma_destroy_id(self._id)
        if self._listen:
            self._cm.rdma_destroy_id(self._listen)
        self._id = self._listen = self._mr = None
        self._buffer = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.leave()


class Source(Connection):
    """Writes to all receivers of a group. offer is what they have."""

    def __init__(self, *args):
        super().__init__(*args)
        self._open = 0

    def write(self, at, octets, to=None, imm=None):
        """Writes octets of the memory to the same place of the receivers' memory, or to another one. Receivers get imm by
        wait(). It returns before that is done: see flush()."""
        if at < 0 or octets < 0 or at + octets > self.length:
            raise ValueError("%d octets at %d of a memory of %d" % (octets, at, self.length))
        to = at if to is None else to
        if self.offer.length and to + octets > self.offer.length:
            raise ValueError("%d octets at %d: receivers have %d" % (octets, to, self.offer.length))
        if self._open == DEPTH:
            self._complete(float("inf"))
        sge = _SGE(ctypes.addressof(self._buffer) + at, octets, self._mr.contents.lkey)
        wr = _SendWR(sg_list=ctypes.pointer(sge), num_sge=1, opcode=WR_RDMA_WRITE, send_flags=SEND_SIGNALED,
                     remote_addr=self.offer.base + to, rkey=self.offer.rkey)
        if imm is not None:
            wr.opcode, wr.imm_data = WR_RDMA_WRITE_WITH_IMM, socket.htonl(imm)
        bad = POINTER(_SendWR)()
        code = _POST_SEND(self._ops[_IN_OPS["post_send"]])(self._id.contents.qp, byref(wr), byref(bad))
        if code:
            raise Error(code, "ibv_post_send: " + os.strerror(code))
        self._open += 1

    def _complete(self, until):
        if not self._poll(self._id.contents.send_cq, until):
            raise TimeoutError("%d writes are not acknowledged" % self._open)
        self._open -= 1

    def flush(self, seconds=60):
        """Waits until all receivers have acknowledged what was written. TimeoutError: they have not."""
        until = time.monotonic() + seconds
        while self._open:
            self._complete(until)


class Receiver(Connection):
    """Has memory that the source of a group writes to."""

    def wait(self, seconds=60):
        """Returns the immediate data of the next write that has some. TimeoutError: there is none."""
        wc = self._poll(self._id.contents.recv_cq, time.monotonic() + seconds)
        if not wc:
            raise TimeoutError("nothing was written")
        self._receive()
        return socket.ntohl(wc.imm_data) if wc.wc_flags & WC_WITH_IMM else None


def open_source(group, port, memory, token=None, address=None, seconds=10):
    """Connects as the source of a group, at its proxy address and spec.connect.port, from an address of this host where it
    has several. It returns when all receivers are in the tree. seconds bound the resolution of the address."""
    s = Source(memory, DEPTH, 0)
    try:
        s._connect(group, port, address, token, seconds)
    except BaseException:
        s.close()
        raise
    return s


def join(group, port, memory, token=None, address=None, listen=False, seconds=10):
    """Joins a group as a receiver: connects to the port after spec.connect.port, or listens at an address of this host until
    the group connects."""
    r = Receiver(memory, 1, RECEIVES)
    try:
        if listen:
            r._accept(address, port, token)
        else:
            r._connect(group, port + 1, address, token, seconds)
    except BaseException:
        r.close()
        raise
    return r


def _private(event):
    """Returns the private data of an event."""
    conn = event.contents.conn
    return ctypes.string_at(conn.private_data, conn.private_data_len) if conn.private_data else b""
