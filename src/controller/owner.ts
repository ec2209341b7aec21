/** Put into the metadata of all table entries that a controller writes, to tell them from those of others. */
export const OWNER: Uint8Array = new TextEncoder().encode("gradplane");
