import { bit } from "../../ir/index.ts";
import { packetIn, packetOut } from "../../wire/controllerport.ts";
import { callSite } from "../callsite.ts";
import type { ProgramBuilder } from "../program.ts";
import { intrinsic } from "../program.ts";
import { ProgramError } from "../programerror.ts";
import { internet } from "./internet.ts";
import { isPriority, trafficClass } from "./trafficclass.ts";

/** The controller's port by its name. @throws ProgramError GP1701 when the program has none */
export function controllerIn(p: ProgramBuilder) {
  const port = p.cpuPort;
  if (port !== undefined) return p.constant("CPU_PORT", bit(9), port, "the controller's port");
  throw new ProgramError({
    code: "GP1701",
    message: "the program has no cpuPort: add one, for example cpuPort: 192",
    at: callSite(),
  });
}

/**
 * Packet-in and packet-out through the controller's port: take it with `p.once(controllerPort)`. A packet-out leaves by
 * the port it names, or runs through the program when `submit` is set.
 */
export function controllerPort(p: ProgramBuilder) {
  const cpu = controllerIn(p);
  const net = p.once(internet);
  const toController = p.packetIn(packetIn);
  const fromController = p.packetOut(packetOut);
  const parsePacketOut = p.parser.state("parse_packet_out");
  net.start.select(intrinsic.ingress_port).on(cpu, parsePacketOut);
  parsePacketOut.extract(fromController).otherwise(net.parseEthernet);

  const receive = p.control(
    "from_controller",
    "ingress",
    "Packets from the controller: sent as they are, or submitted to the program.",
  );
  // What the controller sends is control traffic: it does not wait behind gradients.
  const plan = p.find(isPriority)?.plan;
  const queue = plan === undefined ? undefined : p.once(trafficClass).classOf(plan.control.class);
  receive.apply((s) => {
    s.if(p.valid(fromController), (then) => {
      then.if(fromController.submit.eq(0), (direct) => {
        direct.set(intrinsic.egress_port, fromController.egress_port);
        if (queue !== undefined) direct.set(intrinsic.priority, queue);
        direct.setInvalid(fromController);
        direct.exit();
      });
    });
  });
  p.ingress("receive", (s) => s.invoke(receive));

  const deliver = p.control(
    "to_controller",
    "egress",
    "Packets to the controller carry the port they came in on.",
  );
  deliver.apply((s) => {
    s.if(intrinsic.egress_port.eq(cpu), (then) => {
      then.setValid(toController);
      then.set(toController.ingress_port, intrinsic.ingress_port);
      then.set(toController.padding, 0);
    });
  });
  p.egress("deliver", (s) => s.invoke(deliver));
  return { port: cpu, fromController };
}
