export { AdminServer } from "./admin/admin-server.ts";
export {
  type AdminOptions,
  type AdminRequest,
  type AdminResponse,
  AdminService,
} from "./admin/admin-service.ts";
export { switchMetrics } from "./admin/metrics.ts";
export {
  applyPort,
  type PortChange,
  parsePort,
  parsePorts,
  parseRate,
  TrafficDocumentError,
  trafficDocument,
} from "./admin/traffic-document.ts";
export { SwitchConfigError, type SwitchConfigErrorCode } from "./bmv2json/config-error.ts";
export type { Bmv2JsonSource } from "./bmv2json/document.ts";
export type { Bmv2Program } from "./bmv2json/program.ts";
export { readProgram } from "./bmv2json/read-program.ts";
export { DataplanePacket } from "./dataplane/dataplane-messages.ts";
export { DataplaneServer } from "./dataplane/dataplane-server.ts";
export type { DigestList, Engine, Faults } from "./engine/engine.ts";
export { type RandomSource, seededRandom } from "./engine/random.ts";
export type { TraceEvent, Tracer } from "./engine/trace.ts";
export { traceLine, traceText } from "./engine/trace-text.ts";
export { InProcessPort } from "./ports/in-process-port.ts";
export { type LinuxPort, openLinuxPorts } from "./ports/linux/linux-port.ts";
export { type CapturedFrame, PcapError, PcapWriter, readPcap } from "./ports/pcap-file.ts";
export { PcapPort } from "./ports/pcap-port.ts";
export type { FrameListener, FramePort, PortStatistics } from "./ports/port.ts";
export { type RunnerListener, type RunnerOptions, SwitchRunner } from "./ports/switch-runner.ts";
export { UdpPort, type UdpPortOptions } from "./ports/udp-port.ts";
export {
  type CloneSession,
  type MulticastGroup,
  type Replica,
  ReplicationEngine,
} from "./replication/replication-engine.ts";
export { SnapshotError, type SwitchSnapshot } from "./snapshot.ts";
export { CounterArray, MeterArray, ParseValueSet, RegisterArray } from "./state/arrays.ts";
export { colours, Meter, type MeterConfig, type MeterUnit } from "./state/meter.ts";
export { Switch } from "./switch.ts";
export {
  type Digest,
  type DropReason,
  defaultDropPort,
  type Personality,
  type PortCounters,
  type SwitchAction,
  type SwitchEvent,
  type SwitchOptions,
  type SwitchSink,
  type TracedPacket,
} from "./switch-events.ts";
export { ActionProfile, type Group, type GroupMember, type Member } from "./tables/action-profile.ts";
export { SwitchRuntimeError, type SwitchRuntimeErrorCode } from "./tables/runtime-error.ts";
export { type EntryOptions, Table, type TableDescription } from "./tables/table.ts";
export { type ActionCall, type CounterValue, type EntryAction, TableEntry } from "./tables/table-entry.ts";
export type { KeyField, Match, MatchField } from "./tables/table-key.ts";
export { isFrontPort } from "./tna/architecture.ts";
export type { Exclusions } from "./tna/exclusions.ts";
export type { GeneratorApp, PacketGenerator } from "./tna/packet-generator.ts";
export type { Pipe } from "./tna/packet-path.ts";
export type { Tofino } from "./tna/tofino.ts";
export { applyTofino, isTofinoDocument, type TofinoDocument, tofinoDocument } from "./tna/tofino-snapshot.ts";
export { type Importance, importanceOf, markCongestion } from "./trafficmanager/congestion.ts";
export { type QueueCounters, type QueueDropReason, queueDropReasons } from "./trafficmanager/queue.ts";
export type { PortRate, PortSettings, QueueLength, QueueSettings } from "./trafficmanager/settings.ts";
export {
  type CongestionRules,
  type Dequeued,
  type QueuePlace,
  TrafficManager,
  type TrafficManagerOptions,
} from "./trafficmanager/traffic-manager.ts";
