import { wireHeader } from "./header.ts";

/** In front of a packet that the switch sends to the controller. */
export const packetIn = wireHeader("packet_in", { ingress_port: 9, padding: 7 });

/** In front of a packet that the controller gives to the switch. */
export const packetOut = wireHeader("packet_out", {
  egress_port: [9, "port to leave by; not used when submitted"],
  submit: [1, "1: run the program on the packet as on any other; 0: send it as it is"],
  padding: 6,
});
