"""Writes routes with p4runtime-shell: ADDRESS P4INFO JSON ENTRIES SINGLE. Says entries per second, made and written in requests of 256, and one by one."""

import sys
import time

import p4runtime_sh.shell as sh
from p4.v1 import p4runtime_pb2

address, p4info, device_config, entries, single = sys.argv[1:6]
entries, single = int(entries), int(single)
sh.setup(
    device_id=1, grpc_addr=address, election_id=(0, 1), config=sh.FwdPipeConfig(p4info, device_config), verbose=False
)


def route(n):
    entry = sh.TableEntry("forwarding.route")(action="forwarding.to_port")
    entry.match["dst_addr"] = f"{10 + (n >> 24)}.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}/32"
    entry.action["port"] = "1"
    entry.action["dst_mac"] = "02:00:00:00:00:01"
    return entry


begin = time.perf_counter()
for at in range(0, entries, 256):
    request = p4runtime_pb2.WriteRequest()
    for n in range(at, min(entries, at + 256)):
        update = request.updates.add()
        update.type = p4runtime_pb2.Update.INSERT
        update.entity.table_entry.CopyFrom(route(n).msg())
    sh.client.write(request)
batches = entries / (time.perf_counter() - begin)
begin = time.perf_counter()
for n in range(entries, entries + single):
    route(n).insert()
print(batches, single / (time.perf_counter() - begin))
sh.teardown()
