#!/usr/bin/python3
"""The lab {{.Name}} in Mininet: {{len .Switches}} switches, {{len .Hosts}} hosts. Made by weft lab export.

    sudo ./{{.Name}}.py                                    # weft switch
{{- if .WithoutP4}}

Switches of Linux are network namespaces, whose kernel forwards, with weft switch --datapath linux as
its agent. All others, and the controller, run in the namespace of the machine, with the dashboard at
http://127.0.0.1:8080/. Each host runs weft host in its namespace.
{{- else}}
    sudo ./{{.Name}}.py --switch simple_switch_grpc        # BMv2, advertised by weft speaker

Switches run in the namespace of the machine, with their P4Runtime servers on loopback; so does the
controller, with the dashboard at http://127.0.0.1:8080/. Each host runs weft host in its namespace.
{{- end}}
Logs are in the folder of --logs.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

from mininet.cli import CLI
from mininet.link import Link
from mininet.log import info, setLogLevel
from mininet.net import Mininet
from mininet.node import Node, Switch

HERE = os.path.dirname(os.path.abspath(__file__))
API = "http://127.0.0.1:8080"
MTU = 9000

# Name: P4Runtime port, BGP-LS port, and by port the interface and the packets a second, 0 for no limit.
SWITCHES = {
{{- range .Switches}}{{if not .System}}
    {{quote .At.Name}}: ({{port .GRPC}}, {{port .BGP}}, { {{- range $i, $p := .Ports}}{{if $i}}, {{end}}{{.Number}}: ({{quote .Interface}}, {{.Rate}}){{end -}} }),
{{- end}}{{end}}
}
{{- if .WithoutP4}}

# Name: its address in the management network, the MAC of its ports, by port the interface and the bits
# a second, 0 for no limit, and its hosts: interface, address, MAC.
KERNELS = {
{{- range .Switches}}{{if .System}}
    {{quote .At.Name}}: (
        "{{.At.Address}}/16",
        "{{.Switch.MAC}}",
        { {{- range $i, $p := .Ports}}{{if $i}}, {{end}}{{.Number}}: ({{quote .Interface}}, {{.Bits}}){{end -}} },
        [{{range $i, $n := .Neighbors}}{{if $i}}, {{end}}({{quote .Interface}}, "{{.Address}}", "{{.MAC}}"){{end}}],
    ),
{{- end}}{{end}}
}
{{- end}}

# Name: its configuration, and its address in the management network{{if not .HasMRC}}, which hosts of MRC alone need{{end}}.
HOSTS = {
{{- range .Hosts}}
    {{quote .At.Name}}: ("hosts/{{.At.Service}}.yaml", {{if .IsMRC}}"{{.At.Address}}/16"{{else}}None{{end}}),
{{- end}}
}

# Two ends: node and interface.
LINKS = [
{{- range .Links}}
    ({{quote (index .Ends 0).At.Name}}, {{quote (index .Ends 0).Interface}}, {{quote (index .Ends 1).At.Name}}, {{quote (index .Ends 1).Interface}}),
{{- end}}
]


{{if .WithoutP4 -}}
class KernelSwitch(Switch):
    """A network namespace whose kernel is the switch, with weft switch as its agent."""

    def __init__(self, name, options=None, **params):
        params.update(dpid="%016x" % (0x10000 + list(KERNELS).index(name)), inNamespace=True)
        super().__init__(name, **params)
        self.options, self.process = options, None

    def start(self, controllers):
        """Gives the kernel MACs, rates and neighbors, and starts the agent."""
        _, mac, ports, hosts = KERNELS[self.name]
        self.cmd("ip link set lo up")
        for interface, rate in ports.values():
            # The link-local address is made of the MAC, when the interface comes up.
            self.cmd("ip link set %s down address %s addrgenmode eui64; ip link set %s up" % (interface, mac, interface))
            if rate:
                self.cmd("tc qdisc replace dev %s root tbf rate %dbit burst 64kb latency 200ms" % (interface, rate))
        for interface, address, neighbor in hosts:
            self.cmd("ip -6 neighbor replace %s lladdr %s nud permanent dev %s" % (address, neighbor, interface))
        args = [self.options.weft, "switch", "--datapath", "linux", "--grpc-server-addr", "0.0.0.0:9559"]
        args += [word for n, (interface, _) in ports.items() for word in ("-i", "%d@%s" % (n, interface))]
        args += ["--topology", os.path.join(HERE, "topology.yaml"), "--node", self.name]
        args += ["--bgp-listen", "0.0.0.0:1790", "--bgp-peer", "{{(index .Controllers 0).Address}}"]
        with open(os.path.join(self.options.logs, self.name + ".log"), "wb") as log:
            self.process = self.popen(args, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=HERE)

    def stop(self, deleteIntfs=True):
        """Ends the agent; what the kernel had goes with the namespace."""
        end(self.process)
        super().stop(deleteIntfs)


{{end -}}
class FabricSwitch(Switch):
    """A P4 switch: weft switch, or simple_switch_grpc."""

    def __init__(self, name, command="", options=None, **params):
        params.update(dpid="%016x" % (1 + list(SWITCHES).index(name)), inNamespace=False)
        super().__init__(name, **params)
        self.command, self.options, self.process = command, options, None

    def start(self, controllers):
        """Starts the program; Mininet has made the interfaces."""
        grpc, bgp, ports = SWITCHES[self.name]
        interfaces = [word for n, (name, _) in ports.items() for word in ("-i", "%d@%s" % (n, name))]
        if self.command == "weft":
            args = [self.options.weft, "switch", "--grpc-server-addr", "127.0.0.1:%d" % grpc] + interfaces
            args += ["--topology", os.path.join(HERE, "topology.yaml"), "--node", self.name]
            args += ["--bgp-listen", "127.0.0.1:%d" % bgp, "--bgp-peer", "127.0.0.1"]
            for n, (_, rate) in ports.items():
                if rate:
                    args += ["--queue-rate", "%d=%d" % (n, rate), "--queue-depth", "%d=4096" % n]
        else:
            args = [self.command, "--device-id", "1", "--no-p4", "--log-level", "warn"] + interfaces
            args += ["--thrift-port", str(grpc + 10000), "--notifications-addr", "ipc://%s/%s.ipc" % (self.options.logs, self.name)]
            args += ["--", "--grpc-server-addr", "127.0.0.1:%d" % grpc, "--cpu-port", "510", "--drop-port", "511"]
            args += ["--priority-queues", "8"]
        self.process = run(self.options, self.name, args)

    def stop(self, deleteIntfs=True):
        """Ends the program."""
        end(self.process)
        super().stop(deleteIntfs)


def run(options, name, args, **more):
    """Starts a program whose output goes to a file of its own."""
    with open(os.path.join(options.logs, name + ".log"), "wb") as log:
        return subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=HERE, **more)


def end(process):
    """Ends a program, if it runs."""
    if process and process.poll() is None:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def ready(process):
    """Waits until the controller has programmed every switch."""
    until = time.time() + 120
    while time.time() < until:
        if process.poll() is not None:
            sys.exit("the controller has ended: see its log")
        try:
            with urllib.request.urlopen(API + "/readyz", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    sys.exit("the controller is not ready: " + API + "/readyz says why")


def build(options):
    """Makes switches, hosts and links."""
    net = Mininet(controller=None, autoSetMacs=False)
    for name in SWITCHES:
        net.addSwitch(name, cls=FabricSwitch, command=options.switch, options=options)
{{- if .WithoutP4}}
    for name in KERNELS:
        net.addSwitch(name, cls=KernelSwitch, options=options)
{{- end}}
    for name in HOSTS:
        net.addHost(name, ip=None)
    for a, a_interface, b, b_interface in LINKS:
        link = net.addLink(net[a], net[b], cls=Link, intfName1=a_interface, intfName2=b_interface)
        for interface in (link.intf1, link.intf2):
            interface.cmd("ip link set %s mtu %d addrgenmode none up" % (interface.name, MTU))
            # The kernel's own checksums and segments are not the lab's.
            interface.cmd("ethtool -K %s tx off rx off gso off gro off 2>/dev/null" % interface.name)
    return net


def manage(net):
    """Gives hosts of MRC{{if .WithoutP4}} and kernels{{end}} a link to the controller, by a bridge of the machine."""
    addresses = {name: address for name, (_, address) in HOSTS.items() if address}
{{- if .WithoutP4}}
    addresses.update({name: address for name, (address, *_) in KERNELS.items()})
{{- end}}
    if not addresses:
        return None
    root = Node("root", inNamespace=False)
    root.cmd("ip link add weft-mgmt type bridge; ip address add {{(index .Controllers 0).Address}}/16 dev weft-mgmt; ip link set weft-mgmt up")
    for i, (name, address) in enumerate(addresses.items()):
        link = Link(net[name], root, intfName1="mgmt", intfName2="weft-mgmt%d" % i)
        root.cmd("ip link set weft-mgmt%d master weft-mgmt up" % i)
        net[name].cmd("ip address add %s dev %s; ip link set %s up" % (address, link.intf1.name, link.intf1.name))
    return root


def main():
    parser = argparse.ArgumentParser(description="The lab {{.Name}} in Mininet.")
    parser.add_argument("--switch", default="weft", choices=["weft"{{if not .WithoutP4}}, "simple_switch_grpc"{{end}}], help="program of the switches")
    parser.add_argument("--weft", default="weft", help="the program weft")
    parser.add_argument("--logs", default=tempfile.gettempdir() + "/{{.Name}}", help="folder of the logs")
    parser.add_argument("--run", help="run this shell command when the lab is ready, and end with its status")
    options = parser.parse_args()
    os.makedirs(options.logs, exist_ok=True)
    setLogLevel("info")
    net = build(options)
    root = manage(net)
    others = []
    status = 1
    try:
        net.start()
        if options.switch != "weft":
            others.append(run(options, "speaker", [options.weft, "speaker", "--topology", "topology.yaml",
                                                   "--bgp-listen", "127.0.0.1:1790", "--bgp-peer", "127.0.0.1"]))
        config = "controller.yaml" if options.switch == "weft" else "controller-bmv2.yaml"
        controller = run(options, "controller", [options.weft, "controller", "--config", config, "--store", "memory"])
        others.append(controller)
        ready(controller)
        info("*** The controller has programmed every switch: %s/\n" % API)
        for name, (config, _) in HOSTS.items():
            others.append(net[name].popen([options.weft, "host", "--config", os.path.join(HERE, config)],
                                          stdout=open(os.path.join(options.logs, name + ".log"), "wb"),
                                          stderr=subprocess.STDOUT))
        if options.run:
            status = subprocess.call(options.run, shell=True, cwd=HERE)
        else:
            CLI(net)
            status = 0
    finally:
        for process in reversed(others):
            end(process)
        net.stop()
        if root:
            root.cmd("ip link delete weft-mgmt")
            root.terminate()
    sys.exit(status)


if __name__ == "__main__":
    main()
