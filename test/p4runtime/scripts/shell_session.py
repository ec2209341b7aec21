"""A session of p4runtime-shell with a switch that runs kinds.p4: every kind of entity is written, read and removed, packets go both ways.

Arguments: address of the server, P4Info (text), BMv2 JSON, UDP port of the switch's port 1. Prints one line per step: `ok STEP [RESULT]` or
`failed STEP: WHY`.
"""

import socket
import sys

import p4runtime_sh.shell as sh

address, info, json, udp = sys.argv[1:]
SRC, DST = "hdr.ethernet.src", "hdr.ethernet.dst"


def step(name, action):
    try:
        result = action()
        print("ok", name, *([] if result is None else [result]), flush=True)
    except Exception as error:  # noqa: BLE001
        print(f"failed {name}: {type(error).__name__} {error}", flush=True)


def count(entity):
    return len(list(entity.read()))


def entry(table, action, match, priority=None, **params):
    made = sh.TableEntry(table)(action=action)
    for name, value in match.items():
        made.match[name] = value
    for name, value in params.items():
        made.action[name] = value
    if priority is not None:
        made.priority = priority
    return made


def insert(name, entity):
    step(f"insert {name}", entity.insert)
    return entity


sh.setup(device_id=1, grpc_addr=address, election_id=(0, 1), config=sh.FwdPipeConfig(info, json), verbose=False)
step("version", sh.APIVersion)

exact = insert("exact", entry("ingress.l2", "ingress.forward", {DST: "00:00:00:00:00:01"}, port="2"))
lpm = insert("lpm", entry("ingress.routes", "ingress.forward", {DST: "0x0a0000000000/8"}, port="2"))
session = sh.CloneSessionEntry(5)
session.add(2, 1)
insert("clone session", session)
step("clone sessions", lambda: count(sh.CloneSessionEntry()))
group = sh.MulticastGroupEntry(7)
group.add(1, 1).add(2, 2)
insert("multicast group", group)
group.add(3, 1)
step("modify multicast group", group.modify)
step("multicast groups", lambda: count(sh.MulticastGroupEntry()))
rule = {SRC: "0x02&&&0xff", "std.ingress_port": "1..4", "hdr.ethernet.type": "0x800"}
ternary = insert("ternary, range, optional", entry("ingress.rules", "ingress.mirror", rule, 10, session="5"))
for name, made in (("exact", exact), ("lpm", lpm), ("ternary", ternary)):
    step(f"modify {name}", made.modify)
    step(f"read {name}", lambda made=made: count(sh.TableEntry(made.name)))

members = [sh.ActionProfileMember("ingress.choice")(member_id=i, action="ingress.forward") for i in (1, 2)]
for member in members:
    member.action["port"] = "1"
    insert("member", member)
step("modify member", members[0].modify)
step("members", lambda: count(sh.ActionProfileMember("ingress.choice")))
choice = sh.ActionProfileGroup("ingress.choice")(group_id=1)
choice.max_size = 8
choice.add(1).add(2)
insert("group", choice)
step("modify group", choice.modify)
step("groups", lambda: count(sh.ActionProfileGroup("ingress.choice")))
spread = sh.TableEntry("ingress.spread")
spread.match["hdr.ethernet.type"] = "0x800"
spread.group_id = 1
insert("entry with group", spread)
for name, made in (("entry", spread), ("group", choice), ("member", members[0]), ("member", members[1])):
    step(f"delete {name}", made.delete)
oneshot = sh.TableEntry("ingress.spread")
oneshot.match["hdr.ethernet.type"] = "0x801"
action = sh.Action("ingress.forward")
action["port"] = "3"
oneshot.oneshot.add(action, weight=2)
insert("one-shot", oneshot)
step("one-shots", lambda: count(sh.TableEntry("ingress.spread")))
step("delete one-shot", oneshot.delete)

counted = insert("counted", entry("ingress.counted", "ingress.count_hit", {SRC: "00:00:00:00:00:02"}))
hits = sh.DirectCounterEntry("ingress.hits")
hits.table_entry.match[SRC] = "00:00:00:00:00:02"
hits.packet_count = 9
step("modify direct counter", hits.modify)
step("direct counter", lambda: [one.packet_count for one in hits.read()])
step("direct counters", lambda: count(sh.DirectCounterEntry("ingress.hits")))
metered = insert("metered", entry("ingress.metered", "ingress.meter_hit", {SRC: "00:00:00:00:00:02"}))
colors = sh.DirectMeterEntry("ingress.colors")
colors.table_entry.match[SRC] = "00:00:00:00:00:02"
packets = sh.CounterEntry("ingress.packets")
packets.index = 3
packets.packet_count = 4
step("modify counter", packets.modify)
step("counter", lambda: [one.packet_count for one in packets.read()])
step("counters", lambda: count(sh.CounterEntry("ingress.packets")))
rates = sh.MeterEntry("ingress.rates")
rates.index = 3
for name, meter in (("direct meter", colors), ("meter", rates)):
    meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 2, 3, 4
    step(f"modify {name}", meter.modify)
    step(name, lambda meter=meter: [one.pir for one in meter.read()])
step("meters", lambda: count(sh.MeterEntry("ingress.rates")))

learning = sh.DigestEntry("learned")
learning.max_timeout_ns, learning.max_list_size, learning.ack_timeout_ns = 0, 1, 10**9
insert("digest", learning)
step("digests", lambda: count(learning))
step("modify default", sh.TableEntry("ingress.l2")(action="ingress.drop", is_default=True).modify)

packet_in, digests, idle = sh.PacketIn(), sh.DigestList(), sh.IdleTimeoutNotification()
cpu = entry("ingress.l2", "ingress.to_cpu", {DST: "00:00:00:00:00:09"})
cpu.idle_timeout_ns = 10**9
insert("idle timeout", cpu)
learner = insert("learner", entry("ingress.rules", "ingress.learn", {SRC: "0x04&&&0xff"}, 9))
host = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
host.bind(("127.0.0.1", 0))
host.settimeout(20)
host.sendto(bytes.fromhex("0000000000090000000000049998") + b"x" * 50, ("127.0.0.1", int(udp)))
queue_of = {"packet": packet_in.packet_in_queue, "digest": digests.digest_list_queue, "idle": idle.notification_queue}
step("packet-in", lambda: [m.value.hex() for m in queue_of["packet"].get(timeout=20).packet.metadata])
step("digest list", lambda: [m.bitstring.hex() for m in queue_of["digest"].get(timeout=20).digest.data[0].struct.members])
step("idle", lambda: len(queue_of["idle"].get(timeout=20).idle_timeout_notification.table_entry))
step("packet-out", sh.PacketOut(payload=b"A" * 60, egress_port="1", pad="0").send)
step("packet out of port 1", lambda: len(host.recv(2000)))

step("insert twice", exact.insert)
for made in (exact, lpm, ternary, learner, counted, metered, cpu, session, group, learning):
    step("delete", made.delete)
step("left", lambda: sum(count(sh.TableEntry(f"ingress.{name}")) for name in ("l2", "routes", "rules", "counted", "metered")))
sh.teardown()
