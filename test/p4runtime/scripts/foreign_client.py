"""A P4Runtime client on gRPC's C++ core with its default options, as most P4Runtime clients are.

Arguments: the address of a server with the test program, and the folder of the generated protobuf modules. Prints one line per claim.
"""

import queue
import sys

address, modules = sys.argv[1:]
sys.path.insert(0, modules)

import grpc  # noqa: E402
from google.rpc import status_pb2  # noqa: E402
from p4.v1 import p4runtime_pb2 as p4  # noqa: E402

channel = grpc.insecure_channel(address)


def unary(name, response):
    path = f"/p4.v1.P4Runtime/{name}"
    return channel.unary_unary(path, lambda m: m.SerializeToString(), response.FromString)


write = unary("Write", p4.WriteResponse)
get_config = unary("GetForwardingPipelineConfig", p4.GetForwardingPipelineConfigResponse)
capabilities = unary("Capabilities", p4.CapabilitiesResponse)
read = channel.unary_stream("/p4.v1.P4Runtime/Read", lambda m: m.SerializeToString(), p4.ReadResponse.FromString)
stream = channel.stream_stream(
    "/p4.v1.P4Runtime/StreamChannel", lambda m: m.SerializeToString(), p4.StreamMessageResponse.FromString
)

print("version", capabilities(p4.CapabilitiesRequest()).p4runtime_api_version)
info = get_config(p4.GetForwardingPipelineConfigRequest(device_id=1)).config.p4info
table = next(t for t in info.tables if t.preamble.alias == "ipv4_lpm")
drop = next(a for a in info.actions if a.preamble.alias == "drop")

outgoing = queue.Queue()
incoming = stream(iter(outgoing.get, None))
arbitration = p4.StreamMessageRequest()
arbitration.arbitration.device_id = 1
arbitration.arbitration.election_id.high = 1
outgoing.put(arbitration)
answer = next(incoming).arbitration
print("primary", answer.status.code == 0, answer.election_id.high)


def batch(hosts, kind=p4.Update.INSERT):
    request = p4.WriteRequest(device_id=1)
    request.election_id.high = 1
    for host in hosts:
        update = request.updates.add()
        update.type = kind
        entry = update.entity.table_entry
        entry.table_id = table.preamble.id
        match = entry.match.add()
        match.field_id = 1
        match.lpm.value = host.to_bytes(4, "big")
        match.lpm.prefix_len = 32
        entry.action.action.action_id = drop.preamble.id
    return request


write(batch(range(1, 1001)), timeout=10)
# What the appendix of the specification asks of clients that write many updates at once.
roomy = grpc.insecure_channel(address, options=[("grpc.max_metadata_size", 8192 + 100 * 1000)])
write_many = roomy.unary_unary(
    "/p4.v1.P4Runtime/Write", lambda m: m.SerializeToString(), p4.WriteResponse.FromString
)
for method, count in ((write, 1), (write, 10), (write, 100), (write, 180), (write_many, 1000)):
    try:
        method(batch(range(1, count + 1)), timeout=10)
    except grpc.RpcError as error:
        details = dict(error.trailing_metadata()).get("grpc-status-details-bin", b"")
        status = status_pb2.Status.FromString(details)
        codes = set()
        for detail in status.details:
            one = p4.Error()
            detail.Unpack(one)
            codes.add(one.canonical_code)
        print("refused", error.code().name, len(status.details), codes)

request = p4.ReadRequest(device_id=1)
request.entities.add().table_entry.table_id = table.preamble.id
entries = [entity for response in read(request, timeout=10) for entity in response.entities]
print("read", len(entries), entries[-1].table_entry.match[0].lpm.value)

# What few clients do: compression, much metadata, a message of several megabytes, a deadline that has passed, a method that is not there.
asked = p4.CapabilitiesRequest()
for compression in (grpc.Compression.Gzip, grpc.Compression.Deflate):
    capabilities(asked, timeout=10, compression=compression)
    print("compressed", len(list(read(request, timeout=10, compression=compression))) > 0)
for size in (40_000, 100_000):
    try:
        capabilities(asked, timeout=10, metadata=(("x-large", "x" * size),))
        print("metadata", size)
    except grpc.RpcError as error:
        print("metadata", size, error.code().name)
large = p4.WriteRequest(device_id=1, role="x" * 5_000_000)
large.election_id.high = 1
for method, message, timeout in (
    (write, large, 10),
    (write, batch(range(1, 1001)), 0),
    (unary("Nothing", p4.WriteResponse), asked, 10),
):
    try:
        method(message, timeout=timeout)
    except grpc.RpcError as error:
        print("unusual", error.code().name)
for _ in range(200):
    read(request, timeout=10).cancel()
print("after that", capabilities(asked, timeout=10).p4runtime_api_version)

packet = p4.StreamMessageRequest()
packet.packet.payload = b"\x01"
packet.packet.metadata.add(metadata_id=1, value=b"\x01")
outgoing.put(packet)
print("error", next(incoming).error.canonical_code)
packet.packet.metadata.add(metadata_id=2, value=b"\x00")
outgoing.put(packet)
print("ready", flush=True)
got = next(incoming).packet
print("packet", got.payload, [m.value for m in got.metadata])
outgoing.put(None)
channel.close()
