#!/usr/bin/python3
"""Networks of P4 switches in Mininet: the embedded switch or simple_switch_grpc, with the same arguments.

    sudo python3 bmv2/network.py --topology leaf-spine --check
    sudo python3 bmv2/network.py --topology leaf-spine --on bmv2 --cli
    sudo python3 bmv2/network.py --topology leaf-spine --check --steer --program examples/fabric/program.ts
    sudo python3 bmv2/network.py --topology leaf-spine --aggregate

Starts switches and hosts, writes a topology file for gradplane, and lets `gradplane apply` install the routes. With --check it pings
between all hosts, sends TCP through the network, cuts a link where there is another way, pings, mends it, and pings again. With --steer a
`gradplane controller` runs and finds the cut by itself, if the program has probes. With --aggregate all hosts but the last are workers of
a job, the last is its parameter server, and a switch adds; behind --check when both are wanted.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

try:
    from mininet.cli import CLI
    from mininet.log import setLogLevel
    from mininet.net import Mininet
    from mininet.node import Host, Switch
    from mininet.topo import Topo
except ImportError:
    sys.exit("network.py: Mininet is not here: apt-get install mininet, and run it with /usr/bin/python3")

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GRADPLANE = ["node", os.path.join(ROOT, "bin", "gradplane.js")]
# What a run has made, for the next one to clear away if this one is killed.
MADE = "/run/gradplane-network.json"
CPU_PORT = 510
# Of the programs in examples/ that talk to a controller.
EXAMPLE_CPU_PORT = 192
FIRST_GRPC_PORT = 50100
AGGREGATION = os.path.join(ROOT, "examples", "all-in-one", "program.ts")
# The one of examples/all-in-one: Tofino aggregates in one pipe, and its controller's port is in the same.
AGGREGATION_CPU_PORT = 64
SUMS = os.path.join(ROOT, "examples", "mininet", "sums.ts")
# A network of their own for hosts and the job service, which is not what is tried here.
CONTROL_BRIDGE = "gpcontrol"
CONTROL_NET = "172.31.254"
JOBS = f"{CONTROL_NET}.1:9561"
MTU = 1500
# Seconds that a switch may take to start.
PATIENCE = 120
# Switches that start at the same time: twenty on few cores would all be late.
STARTING = 2 * (os.cpu_count() or 2)


class PlainHost(Host):
    """A host whose frames are what a cable would carry: no offloads, no IPv6."""

    def config(self, **params):
        result = super().config(**params)
        for intf in self.intfList():
            settle(intf.name, self.cmd)
        return result


class P4Switch(Switch):
    """A switch process in the root namespace."""

    on = "embedded"
    cpu_port = CPU_PORT
    # Those that are not ready yet, oldest first.
    starting = []

    def __init__(self, name, device_id=1, **params):
        super().__init__(name, **params)
        self.device_id = device_id
        self.grpc = f"127.0.0.1:{FIRST_GRPC_PORT + device_id}"
        self.process = None

    def start(self, _controllers):
        ports = []
        for number, intf in self.intfs.items():
            if intf.name != "lo":
                settle(intf.name, run)
                ports += ["-i", f"{number}@{intf.name}"]
        command = GRADPLANE + ["switch", "--on", self.on, "--no-p4", *ports, "--device-id", str(self.device_id)]
        command += ["--cpu-port", str(self.cpu_port), "--grpc-server-addr", self.grpc]
        if len(P4Switch.starting) >= STARTING:
            P4Switch.starting[0].wait()
        P4Switch.starting.append(self)
        # A group of its own, so that Ctrl-C in the command line does not end it.
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def wait(self):
        """Returns when it is ready."""
        if self not in P4Switch.starting:
            return
        signal.alarm(PATIENCE)
        line = self.process.stdout.readline()
        signal.alarm(0)
        P4Switch.starting.remove(self)
        if not line.startswith("ready "):
            fail(f"switch {self.name} did not start: {self.process.stderr.read().strip()}")

    def stop(self, deleteIntfs=True):
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
        super().stop(deleteIntfs)


def settle(interface, command):
    """No offloads (they leave checksums open and make frames larger than the MTU), and no IPv6 chatter."""
    command(f"ethtool -K {interface} rx off tx off sg off tso off gso off gro off")
    command(f"sysctl -qw net.ipv6.conf.{interface}.disable_ipv6=1")
    command(f"ip link set {interface} mtu {MTU}")


def run(command):
    subprocess.run(command, shell=True, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def fail(reason):
    raise SystemExit(f"network.py: {reason}")


class Network(Topo):
    """Switches and hosts by name; names are short, since Linux has 15 characters for an interface."""

    def build(self, switches=(), hosts=(), links=()):
        for number, name in enumerate(switches, 1):
            self.addSwitch(name, cls=P4Switch, device_id=number)
        for number, (name, switch) in enumerate(hosts, 1):
            mac = f"02:00:00:00:00:{number:02x}"
            self.addHost(name, cls=PlainHost, ip=f"10.0.0.{number}/24", mac=mac)
            self.addLink(name, switch)
        for a, b in links:
            self.addLink(a, b)


def single():
    return dict(switches=["s1"], hosts=[(f"h{n}", "s1") for n in range(1, 5)], links=[])


def leaf_spine():
    leaves, spines = ["leaf1", "leaf2"], ["spine1", "spine2"]
    hosts = [(f"h{n}", leaves[(n - 1) // 2]) for n in range(1, 5)]
    return dict(switches=leaves + spines, hosts=hosts, links=[(a, b) for a in leaves for b in spines])


def fat_tree():
    """Al-Fares, SIGCOMM 2008, k = 4: 4 cores, 4 pods of 2 aggregation and 2 edge switches, 16 hosts."""
    cores = [f"core{n}" for n in range(1, 5)]
    switches, links, hosts = list(cores), [], []
    for pod in range(1, 5):
        aggregations = [f"agg{pod}{n}" for n in (1, 2)]
        edges = [f"edge{pod}{n}" for n in (1, 2)]
        switches += aggregations + edges
        links += [(a, e) for a in aggregations for e in edges]
        links += [(aggregations[n // 2], core) for n, core in enumerate(cores)]
        for edge in edges:
            hosts += [(f"h{len(hosts) + k}", edge) for k in (1, 2)]
    return dict(switches=switches, hosts=hosts, links=links)


TOPOLOGIES = {"single": single, "leaf-spine": leaf_spine, "fat-tree": fat_tree}


def clear():
    """Takes away what a run that was killed has left: its own processes and interfaces, nothing else."""
    try:
        with open(MADE, encoding="utf8") as file:
            made = json.load(file)
    except (OSError, ValueError):
        return
    for pid, start in made["processes"]:
        if start_of(pid) == start:
            os.kill(pid, signal.SIGKILL)
    for interface in made["interfaces"]:
        run(f"ip link del {interface}")
    os.remove(MADE)


# Processes beside switches and hosts.
others = []


def start(popen, command, word, **options):
    """Starts a process and returns it with the line with which it says that it is ready."""
    process = popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    others.append(process)
    line = process.stdout.readline()
    if word not in line:
        fail(f"{' '.join(command)} did not start: {line.strip()} {process.stderr.read().strip()}")
    process.complaints = []
    # What nobody reads would stop it in the end.
    threading.Thread(target=lambda: process.complaints.extend(process.stderr), daemon=True).start()
    return process, line


def unread(process):
    """Nobody wants to hear more of it."""
    threading.Thread(target=process.stdout.read, daemon=True).start()


def end_others():
    for process in reversed(others):
        process.terminate()
    for process in others:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
    others.clear()


def start_of(pid):
    """When a process began, which tells it from a later one of the same number."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf8") as file:
            return file.read().rsplit(")", 1)[1].split()[19]
    except OSError:
        return None


def descendants(pids):
    out = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    children = {}
    for line in out.splitlines():
        pid, parent = map(int, line.split())
        children.setdefault(parent, []).append(pid)
    todo, found = list(pids), []
    while todo:
        pid = todo.pop()
        found.append(pid)
        todo += children.get(pid, [])
    return found


def remember(net):
    interfaces = [intf.name for switch in net.switches for intf in switch.intfList() if intf.name != "lo"]
    interfaces.append(CONTROL_BRIDGE)
    pids = [switch.process.pid for switch in net.switches] + [host.pid for host in net.hosts]
    pids += [process.pid for process in others]
    processes = [(pid, start_of(pid)) for pid in descendants(pids)]
    with open(MADE, "w", encoding="utf8") as file:
        json.dump({"interfaces": interfaces, "processes": processes}, file)


def topology_text(net, program, cut=()):
    """The file that gradplane's controller verbs read; `cut` are links to leave out."""
    if program.endswith(".ts"):
        source = f'"{program}"'
    else:
        source = f'{{ p4info: "{program}/p4info.txtpb", config: "{config_of(program)}" }}'
    lines = [f"program: {source}", "switches:"]
    for switch in net.switches:
        n = switch.device_id
        lines.append(
            f'  {switch.name}: {{ target: "{switch.grpc}", deviceId: {n}, mac: "02:00:00:00:01:{n:02x}", ipv4: 10.9.0.{n} }}'
        )
    lines.append("hosts:")
    for host in net.hosts:
        switch, port = far_end(host.defaultIntf())
        lines.append(f'  {host.name}: {{ mac: "{host.MAC()}", ipv4: {host.IP()}, at: "{switch}:{port}" }}')
    lines.append("links:")
    count = 0
    for link in net.links:
        a, b = link.intf1, link.intf2
        if a.node in net.hosts or b.node in net.hosts or {a.node.name, b.node.name} in map(set, cut):
            continue
        lines.append(f"  - {a.node.name}:{a.node.ports[a]} - {b.node.name}:{b.node.ports[b]}")
        count += 1
    if count == 0:
        lines[-1] = "links: []"
    return "\n".join(lines) + "\n"


def config_of(program):
    found = os.listdir(program)
    named = os.path.basename(os.path.normpath(program)) + ".json"
    if named in found:
        return os.path.join(program, named)
    fail(f"there is no {named} in {program}; gradplane build makes such folders")


def far_end(intf):
    link = intf.link
    other = link.intf2 if link.intf1 is intf else link.intf1
    return other.node.name, other.node.ports[other]


def apply(net, program, folder, cut=()):
    path = os.path.join(folder, "topology.yaml")
    with open(path, "w", encoding="utf8") as file:
        file.write(topology_text(net, program, cut))
    done = subprocess.run(GRADPLANE + ["apply", "--topology", path, "--take-over", "--timeout", "30000"], capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"gradplane apply failed: {done.stderr.strip() or done.stdout.strip()}")


def asked(a, hosts):
    """Commands that print the names of those that do not answer."""
    ping = "ping -c 2 -i 0.2 -W 5 {} | grep -q ' 0% packet loss'"
    tries = [" || ".join([ping.format(b.IP())] * 3) + f" || echo {b.name}" for b in hosts if b is not a]
    return "; ".join(tries)


def ping_all(net):
    """Each host to each other, all hosts at once: two pings with two answers. A busy machine may be late with some; then it is asked again."""
    lost = []
    asking = [(a, a.popen(["sh", "-c", asked(a, net.hosts)], stdout=subprocess.PIPE, text=True)) for a in net.hosts]
    for a, process in asking:
        out, _ = process.communicate()
        lost += [f"{a.name}-{name}" for name in out.split()]
    pairs = len(net.hosts) * (len(net.hosts) - 1)
    print(f"ping: {pairs - len(lost)} of {pairs} pairs" + (f", lost {' '.join(lost)}" if lost else ""), flush=True)
    return not lost


def tcp(net):
    """TCP from the first host to the last, for a second."""
    first, last = net.hosts[0], net.hosts[-1]
    server = last.popen(["iperf", "-s"])
    time.sleep(1)
    text = first.cmd(f"timeout 30 iperf -t 1 -f m -c {last.IP()}")
    server.terminate()
    rate = re.search(r"([\d.]+) Mbits/sec", text)
    print(f"tcp: {first.name} to {last.name} {rate.group(1) if rate else '0'} Mbit/s", flush=True)
    return rate is not None and float(rate.group(1)) > 0


def largest_frames(net):
    """Offloads are off on both ends of each link."""
    states = [
        subprocess.run(["ethtool", "-k", intf.name], capture_output=True, text=True, check=False).stdout
        for switch in net.switches
        for intf in switch.intfList()
        if intf.name != "lo"
    ]
    states += [host.cmd(f"ethtool -k {host.defaultIntf().name}") for host in net.hosts]
    wrong = [s for s in states if re.search(r"^(tcp-segmentation|generic-segmentation|generic-receive)-offload: on", s, re.M)]
    print(f"offloads: off on {len(states) - len(wrong)} of {len(states)} interfaces", flush=True)
    return not wrong


def cut_link(net, shape, program, folder, is_steered):
    """Takes the first link between switches away, and lets the routes follow. Networks without a second way have none."""
    if not shape["links"] or len(shape["links"]) < len(shape["switches"]):
        return True
    a, b = shape["links"][0]
    for link in net.linksBetween(net.get(a), net.get(b)):
        for intf in (link.intf1, link.intf2):
            # A bucket that no frame fits. Taking the interface down instead ends all reception of simple_switch_grpc, of other ports too.
            run(f"tc qdisc replace dev {intf.name} root tbf rate 8bit burst 1 limit 1")
    if is_steered:
        # The controller's probes are lost on the way, three in a row.
        time.sleep(5)
    else:
        apply(net, program, folder, cut=[(a, b)])
    print(f"cut: {a} - {b}", flush=True)
    return ping_all(net)


def mend_link(net, shape, program, folder, is_steered):
    """Brings the link back, which a controller takes into use again by itself."""
    if not shape["links"] or len(shape["links"]) < len(shape["switches"]):
        return True
    a, b = shape["links"][0]
    for link in net.linksBetween(net.get(a), net.get(b)):
        for intf in (link.intf1, link.intf2):
            run(f"tc qdisc del dev {intf.name} root")
    if is_steered:
        time.sleep(5)
    else:
        apply(net, program, folder)
    print(f"mended: {a} - {b}", flush=True)
    return ping_all(net)


def steer(net, folder, jobs=None):
    """A controller that keeps the switches as the topology file says, with a job service where the program aggregates."""
    command = GRADPLANE + ["controller", "--topology", os.path.join(folder, "topology.yaml"), "--listen", "127.0.0.1:0"]
    command += ["--jobs", jobs] if jobs else []
    process, line = start(subprocess.Popen, command, "", start_new_session=True)
    while line and not line.startswith("ready "):
        line = process.stdout.readline()
    if not line:
        process.wait()
        time.sleep(0.2)
        fail(f"the controller did not start: {''.join(process.complaints).strip()}")
    unread(process)
    remember(net)


def control_network(net):
    """A bridge, and an interface in each host: to the job service of the controller, not to the other hosts' data."""
    run(f"ip link add {CONTROL_BRIDGE} type bridge")
    run(f"ip addr add {CONTROL_NET}.1/24 dev {CONTROL_BRIDGE}")
    run(f"ip link set {CONTROL_BRIDGE} up")
    for number, host in enumerate(net.hosts, 10):
        run(f"ip link add gpc{number} type veth peer name control netns {host.pid}")
        run(f"ip link set gpc{number} master {CONTROL_BRIDGE} up")
        host.cmd(f"ip addr add {CONTROL_NET}.{number}/24 dev control")
        host.cmd("ip link set control up")


def aggregate(net):
    """All hosts but the last add, in each round, the same number to all keys; the last one checks the sums that a switch made."""
    *workers, server = net.hosts
    names = ",".join(worker.name for worker in workers)

    def take_part(host, verb, options):
        leaf, _ = far_end(host.defaultIntf())
        start(host.popen, GRADPLANE + ["cable", host.defaultIntf().name, "--local", "50001", "--peer", "50002"], "ready")
        command = GRADPLANE + [verb, SUMS, "--controller", JOBS, "--host", host.name]
        command += ["--cable", f"{leaf}=127.0.0.1:50001", "--bind", "127.0.0.1:50002"]
        process, first = start(host.popen, command + options, "{")
        if host is not server:
            unread(process)
        remember(net)
        return process, first

    serving, first = take_part(server, "server", ["--workers", names, "--needs-switch"])
    for worker in workers:
        take_part(worker, "worker", [])
    events = [json.loads(line) for line in [first, *serving.stdout]]
    placed = [event["on"] for event in events if event["event"] == "placed"] or ["nowhere"]
    ended = next((event for event in events if event["event"] == "ended"), {})
    right, wrong = ended.get("right", 0), ended.get("wrong", 0)
    print(f"sums: {len(workers)} workers, {ended.get('rounds', 0)} rounds on {placed[-1]}, {right} right, {wrong} wrong", flush=True)
    return right > 0 and wrong == 0 and placed[-1] != "server"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topology", choices=sorted(TOPOLOGIES), default="single")
    parser.add_argument("--on", choices=["embedded", "bmv2"], default="embedded", help="which switch (default: embedded)")
    parser.add_argument("--program", help="folder that gradplane build made (default: p4out/lp), or a program of gradplane in TypeScript")
    parser.add_argument("--cpu-port", type=int, help=f"port of the controller's packets (default: {CPU_PORT}; {EXAMPLE_CPU_PORT} for TypeScript, {AGGREGATION_CPU_PORT} for examples/all-in-one)")
    parser.add_argument("--check", action="store_true", help="ping, TCP, a link cut; exit code 1 when something fails")
    parser.add_argument("--steer", action="store_true", help="a controller runs, which finds the link that --check cuts")
    parser.add_argument("--aggregate", action="store_true", help="a job whose sums a switch makes (default program: examples/all-in-one)")
    parser.add_argument("--cli", action="store_true", help="Mininet's command line")
    options = parser.parse_args()
    if os.geteuid() != 0:
        fail("Mininet needs root: sudo python3 bmv2/network.py ...")
    usual = AGGREGATION if options.aggregate else os.path.join(ROOT, "p4out", "lp")
    program = os.path.abspath(options.program or usual)
    if program.endswith(".ts"):
        if not os.path.isfile(program):
            fail(f"there is no file {options.program}")
    elif not os.path.isdir(program):
        fail(f"there is no folder {options.program}; gradplane build makes it")
    else:
        config_of(program)
    usual_port = EXAMPLE_CPU_PORT if program.endswith(".ts") else CPU_PORT
    P4Switch.cpu_port = options.cpu_port or (AGGREGATION_CPU_PORT if program == AGGREGATION else usual_port)
    clear()
    setLogLevel("warning")
    P4Switch.on = options.on
    shape = TOPOLOGIES[options.topology]()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    net = Mininet(topo=Network(**shape), controller=None, switch=P4Switch, autoStaticArp=True)
    good = True
    with tempfile.TemporaryDirectory(prefix="gradplane-network-") as folder:
        try:
            net.start()
            remember(net)
            for switch in net.switches:
                switch.wait()
            remember(net)
            apply(net, program, folder)
            if options.steer:
                steer(net, folder)
            print(f"ready: {len(net.switches)} switches ({options.on}), {len(net.hosts)} hosts", flush=True)
            if options.check:
                steps = [largest_frames, ping_all, tcp]
                steps += [lambda n, step=step: step(n, shape, program, folder, options.steer) for step in (cut_link, mend_link)]
                good = all([step(net) for step in steps])
            if options.aggregate:
                # One controller at a time.
                end_others()
                control_network(net)
                steer(net, folder, JOBS)
                good = aggregate(net) and good
            if options.cli:
                CLI(net)
            elif not (options.check or options.aggregate):
                print(f"topology file: {folder}/topology.yaml; Ctrl-C ends", flush=True)
                signal.pause()
        except KeyboardInterrupt:
            pass
        finally:
            end_others()
            # One that was asked when the signal came would not be stopped.
            for host in net.hosts:
                host.waiting = False
            net.stop()
            clear()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
