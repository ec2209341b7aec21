export { type Difference, differenceOf, isApplied } from "./diff.ts";
export { readDrops } from "./drops.ts";
export { JobError, type JobRequest } from "./failover.ts";
export { Fleet, type FleetNotice, type FleetOptions, SwitchesError, type SwitchState } from "./fleet.ts";
export { FleetJobs, type JobNews, type JobNotice, type JobState } from "./fleetjobs.ts";
export { type Intent, IntentBook, type Intentions } from "./intent.ts";
export { membersOf, type Placement } from "./jobs.ts";
export { JobEnded, JobMember, type JobMemberOptions, listJobs, moveJob } from "./jobservice/client.ts";
export { type DeskAction, type DeskTimes, JobDesk, type Joined } from "./jobservice/desk.ts";
export {
  type JobHostOptions,
  type ServingJob,
  serveJob,
  type WorkingJob,
  workJob,
} from "./jobservice/jobhost.ts";
export { type JobRecord, type JobSpec, type JobWay, layoutOf } from "./jobservice/jobrecord.ts";
export { JobRefusal, type RefusalCode } from "./jobservice/refusal.ts";
export { JobServer, type JobServerOptions } from "./jobservice/server.ts";
export { Leadership, type LeadershipOptions, type Reign } from "./leadership.ts";
export { type LinkNews, LinkProbes, type ProbeOut, type ProbesOutcome } from "./linkprobes.ts";
export { type LinkAction, type LinkEvent, LinkWatch, type LinkWatchOptions } from "./linkwatch.ts";
export { type Life, Liveness, type LivenessAction, type LivenessEvent } from "./liveness.ts";
export { metricsOf } from "./metrics.ts";
export { OwnJob, type OwnJobOptions } from "./ownjob.ts";
export { NO_OUTAGE, nextHops, type Outage } from "./paths.ts";
export { describePlan, type Plan, planOf } from "./plan.ts";
export type { AggregationFeature } from "./program.ts";
export { applyPlan, readDifference, reconcile } from "./reconcile.ts";
export { Bmv2SideChannel } from "./sidechannel/bmv2.ts";
export { EmbeddedSideChannel } from "./sidechannel/embedded.ts";
export {
  type Rate,
  type SideChannel,
  SideChannelError,
  type SideChannelErrorCode,
} from "./sidechannel/sidechannel.ts";
export { type ControllerState, StateError, StateFile, type StateStore } from "./statefile.ts";
export { type HostNode, type LinkNode, type SwitchNode, type Topology, TopologyError } from "./topology.ts";
export { parseTopology, readTopologyFile, type TopologyFile } from "./topologyfile.ts";
export type { UserEntry } from "./userentry.ts";
export { WebPage, type WebPageOptions } from "./webpage.ts";
