// A v1model program with every kind of object that P4Runtime controls, for clients of other makes and for comparisons with simple_switch_grpc.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> pad;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> pad;
}

struct headers {
    packet_in_t packet_in;
    packet_out_t packet_out;
    ethernet_t ethernet;
}

struct metadata {
    bit<2> color;
    bit<16> group;
}

struct learned {
    bit<48> src;
    bit<9> port;
}

const bit<9> CPU_PORT = 100;

parser parse(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t std) {
    value_set<bit<16>>(4) special;
    state start {
        transition select(std.ingress_port) {
            CPU_PORT: from_controller;
            default: ethernet;
        }
    }
    state from_controller {
        packet.extract(hdr.packet_out);
        transition ethernet;
    }
    state ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            special: marked;
            default: accept;
        }
    }
    state marked {
        meta.group = 1;
        transition accept;
    }
}

control check(inout headers hdr, inout metadata meta) {
    apply { }
}

control ingress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    counter(8, CounterType.packets_and_bytes) packets;
    meter(8, MeterType.packets) rates;
    register<bit<32>>(8) sums;
    direct_counter(CounterType.packets_and_bytes) hits;
    direct_meter<bit<2>>(MeterType.bytes) colors;
    action_selector(HashAlgorithm.crc16, 32w8, 32w8) choice;

    action drop() {
        mark_to_drop(std);
    }
    action forward(bit<9> port) {
        std.egress_spec = port;
    }
    action multicast(bit<16> group) {
        std.mcast_grp = group;
    }
    action to_cpu() {
        std.egress_spec = CPU_PORT;
    }
    action mirror(bit<32> session) {
        clone(CloneType.I2E, session);
    }
    action learn() {
        digest<learned>(1, { hdr.ethernet.src, std.ingress_port });
    }
    action count_hit() {
        hits.count();
    }
    action meter_hit() {
        colors.read(meta.color);
    }

    table l2 {
        key = {
            hdr.ethernet.dst: exact;
        }
        actions = { forward; multicast; to_cpu; drop; }
        default_action = drop();
        size = 64;
        support_timeout = true;
    }
    table routes {
        key = {
            hdr.ethernet.dst: lpm;
        }
        actions = { forward; NoAction; }
        size = 64;
    }
    table rules {
        key = {
            hdr.ethernet.src: ternary;
            std.ingress_port: range;
            hdr.ethernet.type: optional;
        }
        actions = { mirror; learn; NoAction; }
        size = 4;
    }
    table counted {
        key = {
            hdr.ethernet.src: exact;
        }
        actions = { count_hit; NoAction; }
        default_action = NoAction();
        counters = hits;
        size = 64;
    }
    table metered {
        key = {
            hdr.ethernet.src: exact;
        }
        actions = { meter_hit; NoAction; }
        default_action = NoAction();
        meters = colors;
        size = 64;
    }
    table fixed {
        key = {
            hdr.ethernet.type: exact;
        }
        actions = { NoAction; drop; }
        const default_action = NoAction();
        const entries = {
            16w0x9999: drop();
        }
    }
    table spread {
        key = {
            hdr.ethernet.type: exact;
            hdr.ethernet.src: selector;
        }
        actions = { forward; NoAction; }
        implementation = choice;
        size = 64;
    }

    apply {
        if (hdr.packet_out.isValid()) {
            std.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else {
            l2.apply();
            routes.apply();
            spread.apply();
            rules.apply();
            counted.apply();
            metered.apply();
            fixed.apply();
            packets.count(1);
            rates.execute_meter(32w1, meta.color);
            sums.write(1, (bit<32>) std.ingress_port);
        }
    }
}

control egress(inout headers hdr, inout metadata meta, inout standard_metadata_t std) {
    apply {
        if (std.egress_port == CPU_PORT) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = std.ingress_port;
        }
    }
}

control compute(inout headers hdr, inout metadata meta) {
    apply { }
}

control deparse(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
    }
}

V1Switch(parse(), check(), ingress(), egress(), compute(), deparse()) main;
