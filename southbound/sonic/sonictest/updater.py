"""Runs generic_config_updater of sonic-utilities on a redis of its own, for tests.

    updater.py FOLDER RELEASE

Reads lines {"config": CONFIG_DB, "patch": [...]} and answers each with {"config": CONFIG_DB} or
{"error": "..."}. FOLDER is an empty folder that it may use. Environment:

    SONIC_UTILITIES_DIR  sources of github.com/sonic-net/sonic-utilities
    WEFT_SONIC_YANG      src/sonic-yang-models of github.com/sonic-net/sonic-buildimage, of the same
                         branch: src/sonic-yang-mgmt and src/sonic-py-common lie beside it
    PYTHONPATH           swsssdk (github.com/sonic-net/sonic-py-swsssdk), Python bindings of libyang
                         as the branch has them, redis, jsonpatch, jsondiff, jinja2, xmltodict
    SONIC_PYTHON         read by the tests: the Python to use, /usr/bin/python3 without it

What is not SONiC's own: ConfigDBConnector is that of swsssdk, not of swsscommon; CONFIG_DB is read
by it, not by sonic-cfggen; the switch is a Spectrum-4 that runs a build of RELEASE; and the pause
of a second after each change, which newer updaters make for slow daemons, is left out.
"""

import glob
import json
import os
import subprocess
import sys
import time
import types
import unittest  # noqa: F401 - swsssdk is for unit tests alone, and looks for this module

folder, release = sys.argv[1:]
models = os.environ["WEFT_SONIC_YANG"]
sys.path[:0] = [os.environ["SONIC_UTILITIES_DIR"]] + [
    os.path.join(models, "..", name) for name in ("sonic-yang-mgmt", "sonic-py-common")]
answers, sys.stdout = sys.stdout, sys.stderr  # the updater prints what it does

import jinja2  # noqa: E402
import jsonpatch  # noqa: E402
import redis  # noqa: E402
import swsssdk  # noqa: E402
from swsssdk.dbconnector import SonicDBConfig  # noqa: E402


def start_redis():
    socket = os.path.join(folder, "redis.sock")
    # It ends with this process: its standard input is a pipe of this one.
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "",
                               "--appendonly", "no"], stdout=subprocess.DEVNULL)
    names = os.path.join(folder, "database_config.json")
    databases = {name: {"id": i, "separator": separator, "instance": "redis"} for name, i, separator
                 in (("APPL_DB", 0, ":"), ("CONFIG_DB", 4, "|"), ("STATE_DB", 6, "|"))}
    with open(names, "w") as f:
        json.dump({"INSTANCES": {"redis": {"hostname": "127.0.0.1", "port": 0,
                                           "unix_socket_path": socket}},
                   "DATABASES": databases, "VERSION": "1.0"}, f)
    SonicDBConfig.load_sonic_db_config(names)
    client = redis.Redis(unix_socket_path=socket, db=4)
    for _ in range(1000):
        try:
            client.ping()
            return server, client
        except redis.ConnectionError:
            time.sleep(0.01)
    raise SystemExit("redis-server does not answer")


def modules():
    """Returns a folder with the YANG modules, those that are templates made as SONiC makes them."""
    out = os.path.join(folder, "yang")
    os.mkdir(out)
    env = jinja2.Environment(loader=jinja2.FileSystemLoader("/"), trim_blocks=True)
    for path in glob.glob(os.path.join(models, "yang-models", "*.yang")):
        os.symlink(os.path.abspath(path), os.path.join(out, os.path.basename(path)))
    for path in glob.glob(os.path.join(models, "yang-templates", "*.yang.j2")):
        to = os.path.join(out, os.path.basename(path)[:-len(".j2")])
        if os.path.lexists(to):
            os.unlink(to)
        with open(to, "w") as f:
            f.write(env.get_template(os.path.abspath(path)).render(yang_model_type="py"))
    return out


def connector():
    db = swsssdk.ConfigDBConnector(use_unix_socket_path=True)
    db.connect()
    return db


def config_db(scope=None):
    """Returns CONFIG_DB as sonic-cfggen -d --print-data prints it."""
    return json.dumps({table: {"|".join(key) if isinstance(key, tuple) else key: row
                               for key, row in rows.items()}
                       for table, rows in connector().get_config().items()})


server, client = start_redis()
swsscommon = types.ModuleType("swsscommon.swsscommon")
for name in ("ConfigDBConnector", "SonicDBConfig", "SonicV2Connector"):
    setattr(swsscommon, name, getattr(swsssdk, name))
sys.modules["swsscommon"] = types.ModuleType("swsscommon")
sys.modules["swsscommon.swsscommon"] = sys.modules["swsscommon"].swsscommon = swsscommon

from sonic_py_common import device_info, multi_asic  # noqa: E402

multi_asic.is_multi_asic = lambda *_: False
device_info.get_sonic_version_info = lambda: {"asic_type": "mellanox",
                                              "build_version": "SONiC." + release + "01.1"}

from generic_config_updater import change_applier, field_operation_validators  # noqa: E402
from generic_config_updater import generic_updater, gu_common  # noqa: E402

gu_common.YANG_DIR = modules()
gu_common.get_config_db_as_text = config_db
change_applier.time = types.SimpleNamespace(sleep=lambda _: None)
field_operation_validators.GET_HWSKU_CMD = "echo ACS-SN5600"

try:
    for line in sys.stdin:
        request = json.loads(line)
        client.flushdb()
        client.set("CONFIG_DB_INITIALIZED", "1")
        db = connector()
        for table, rows in request["config"].items():
            for key, row in rows.items():
                db.set_entry(table, key, row)
        try:
            generic_updater.GenericUpdater().apply_patch(
                jsonpatch.JsonPatch(request["patch"]), generic_updater.ConfigFormat.CONFIGDB,
                False, False, False, ())
            answer = {"config": json.loads(config_db())}
        except Exception as e:  # whatever the updater raises is what its client gets
            answer = {"error": type(e).__name__ + ": " + str(e)}
        print(json.dumps(answer), file=answers, flush=True)
finally:
    server.kill()
    server.wait()
