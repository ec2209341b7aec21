/**
 * Whose ways a server has: those of the specification, or those of simple_switch_grpc (BMv2 behind PI's server) where controllers that
 * were written for it depend on them. So far that is one thing: `bmv2` takes device id 0, which the specification forbids.
 */
export const serverProfiles = ["spec", "bmv2"] as const;
export type ServerProfile = (typeof serverProfiles)[number];

export function isServerProfile(text: string): text is ServerProfile {
  return serverProfiles.some((profile) => profile === text);
}
