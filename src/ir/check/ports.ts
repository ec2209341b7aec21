import type { Diagnostic } from "../diagnostics.ts";
import type { Program } from "../program.ts";
import { placedStatements } from "../walk.ts";

type Report = (d: Diagnostic) => void;

/** v1model's port numbers have 9 bits, and the highest of them drops. */
const DROP_PORT = 511;
/** The intrinsic `priority` has 3 bits. */
const MAX_QUEUES = 8;

/** Ports and queues of the switch by themselves. */
export function checkPortNumbers(
  { ports, cpuPort, priorityQueues }: Pick<Program, "ports" | "cpuPort" | "priorityQueues">,
  report: Report,
): void {
  if (!isWithin(ports, 1, DROP_PORT)) {
    report({ code: "GP1703", message: `the program has ${ports} ports; it may have 1 to ${DROP_PORT}` });
  } else if (cpuPort !== undefined && !isWithin(cpuPort, ports, DROP_PORT - 1)) {
    const free =
      ports < DROP_PORT
        ? `it may be ${ports} to ${DROP_PORT - 1}`
        : "all numbers are those of other ports: take fewer";
    report({ code: "GP1703", message: `the controller's port is ${cpuPort}; ${free}` });
  }
  if (!isWithin(priorityQueues, 1, MAX_QUEUES)) {
    const message = `priorityQueues is ${priorityQueues}; it may be 1 to ${MAX_QUEUES}`;
    report({ code: "GP1701", message });
  }
}

/** Ports and queues of the switch, and constants that choose one. */
export function checkPorts(program: Program, report: Report): void {
  const { ports, cpuPort, priorityQueues } = program;
  checkPortNumbers(program, report);
  const withController = program.packetIn ?? program.packetOut;
  if (cpuPort === undefined && withController !== undefined) {
    const message = `header ${withController} needs a controller's port, and the program has no cpuPort`;
    report({ code: "GP1703", message, at: program.headers.find((h) => h.name === withController)?.at });
  }
  for (const { session, port } of program.copies?.cloneSessions?.sessions ?? []) {
    if (!isWithin(port, 0, ports - 1) && port !== cpuPort)
      report({ code: "GP1703", message: `clone session ${session}: the switch has no port ${port}` });
    if (!isWithin(session, 1, 0xffff))
      report({ code: "GP1701", message: `clone session ${session}: sessions have numbers from 1` });
  }
  for (const [s] of placedStatements(program)) {
    if (s.kind !== "assign" || s.target.kind !== "intrinsic" || s.value.kind !== "constant") continue;
    const value = Number(s.value.value);
    if (s.target.name === "egress_port") {
      const exists = isWithin(value, 0, ports - 1) || value === cpuPort || value === DROP_PORT;
      // What does not fit the type is reported as that.
      if (!exists && isWithin(value, 0, DROP_PORT))
        report({ code: "GP1703", message: `the switch has no port ${value}`, at: s.at });
    }
    if (s.target.name === "priority" && value >= priorityQueues && value < MAX_QUEUES) {
      const message = `priority ${value} with ${priorityQueues} of ${MAX_QUEUES} queues: raise priorityQueues`;
      report({ code: "GP1701", message, at: s.at });
    }
  }
}

function isWithin(value: number, low: number, high: number): boolean {
  return Number.isInteger(value) && value >= low && value <= high;
}
