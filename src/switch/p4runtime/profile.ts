/**
 * Whose ways a server has: those of the specification, or those of simple_switch_grpc (BMv2 behind PI's server) where controllers that
 * were written for it depend on them: device id 0, its arbitration, what it does not implement, and the codes of its errors.
 */
export const serverProfiles = ["spec", "bmv2"] as const;
export type ServerProfile = (typeof serverProfiles)[number];

export function isServerProfile(text: string): text is ServerProfile {
  return serverProfiles.some((profile) => profile === text);
}
